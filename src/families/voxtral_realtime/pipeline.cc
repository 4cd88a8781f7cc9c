#include "families/voxtral_realtime/pipeline.h"

#include "families/loading/checkpoint.h"
#include "families/voxtral_realtime/hearing_stage.h"
#include "io/file.h"
#include "text/tokens/byte_tokenizer.h"

namespace syrinx::voxtral_realtime {

VoxtralRealtime::VoxtralRealtime(const LoadSpec& spec) : config_(load_model_config(spec.dir)) {
  open_words(spec);
  weights_ =
      std::make_unique<Weights>(config_.original && !spec.dummy
                                    ? open_original(config_, join_path(spec.dir, kOriginalWeights))
                                    : weights_at(spec, spec.dir));
  std::unique_ptr<HearingStage> encoder;
  std::unique_ptr<DelayedLm> lm;
  weights_->build([&] {
    encoder = spec.part("encoder", [&] {
      return std::make_unique<HearingStage>(config_, *weights_, spec.weights);
    });
    lm = spec.part("lm", [&] { return load_lm(weights_->scope("language_model"), spec.weights); });
  });
  move_networks(spec, "encoder", *encoder, "lm", *lm, *norms_);
  name("voxtral_realtime", spec, "see the checkpoint (Mistral's is Apache-2.0)");
  const PartInfo tower{
      "encoder",
      concat(describe_decoder(config_.encoder), ", ", config_.encoder.window, " positions, ",
             config_.mel.mels, " mel bands, ", 1000 * config_.token_s(), " ms a row"),
      encoder->bytes()};
  join(std::move(encoder), std::move(lm), config_.mel.sample_rate, config_.samples(), config_.delay,
       tower);
}

/// Opens the tokenizer. Random weights need none.
void VoxtralRealtime::open_words(const LoadSpec& spec) {
  const std::string path = join_path(spec.dir, "tekken.json");
  std::optional<Tokenizer> words;
  if (spec.dummy && !is_file(path)) {
    const std::string controls[] = {"<s>", "</s>", "[STREAMING_PAD]"};
    words = byte_tokenizer(controls);
  } else {
    Tekken tekken = read_tekken(path);
    read_sound(tekken, path, config_);
    words = std::move(tekken.tokenizer);
  }
  config_.begin = words->need_id("<s>");
  config_.end = words->need_id("</s>");
  config_.pad = words->need_id("[STREAMING_PAD]");
  check_ids(path, words->size(), config_.vocab);
  texts_ = id_texts(*words, 0, config_.vocab);
}

std::unique_ptr<DelayedLm> VoxtralRealtime::load_lm(const Weights& weights, WeightType type) {
  const Weights model = weights.scope("model");
  norms_.emplace(config_.lm, model);
  const View table = model.take("embed_tokens.weight", {config_.vocab, config_.lm.hidden});
  weights.ignore("lm_head.weight");  // a copy of the table
  return std::make_unique<DelayedLm>(
      load_stream_decoder(config_.lm, model, type, config_.prompt(ModelConfig::kMostDelay)), table,
      PackedLinear::pack(table, at_least_8_bits(type)), config_.left_pad - 1);
}

DelayedText VoxtralRealtime::text_of(int delay) const {
  return {.width = config_.lm.hidden,
          .row_s = config_.token_s(),
          .before = config_.left_pad,
          .after = config_.right_pad(delay),
          .delay_s = delay * config_.token_s(),
          .first = config_.prompt(delay),
          .begin = config_.begin,
          .pad = config_.pad,
          .end = config_.end,
          .longest_word = ModelConfig::kLongestWord};
}

}  // namespace syrinx::voxtral_realtime
