#include "families/kyutai_stt/pipeline.h"

#include "families/kyutai_stt/hearing_stage.h"
#include "families/loading/checkpoint.h"
#include "io/file.h"
#include "nn/layers.h"
#include "text/tokens/unigram.h"

namespace syrinx::kyutai_stt {
namespace {

/// Opens the vocabulary. Random weights need none.
Unigram open_words(const LoadSpec& spec, const ModelConfig& config) {
  const std::string path = join_path(spec.dir, config.files.tokenizer);
  if (spec.dummy && !is_file(path)) return Unigram::characters();
  Unigram words = Unigram::from_model(path);
  check_ids(path, words.size(), config.text_out);
  return words;
}

std::unique_ptr<DelayedLm> load_lm(const ModelConfig& config, const Weights& weights,
                                   WeightType type) {
  const int64_t width = config.lm.hidden;
  const View table = weights.take("text_emb.weight", {config.text_in + 1, width});
  return std::make_unique<DelayedLm>(load_stream_decoder(config.lm, weights, type, 1), table,
                                     load_linear(weights, "text_linear", config.text_out, width,
                                                 config.biased, at_least_8_bits(type)));
}

}  // namespace

KyutaiStt::KyutaiStt(const LoadSpec& spec)
    : config_(load_model_config(Config::load(join_path(spec.dir, "config.json")), spec.dir)) {
  texts_ = id_texts(open_words(spec, config_), config_.pad + 1, config_.text_out);
  const auto open = [&](auto&& stored, const auto& config, const std::string& name) {
    return spec.dummy ? dummy_weights({}) : stored(config, join_path(spec.dir, name));
  };
  const Weights mimi(open(moshi::open_mimi, config_.mimi, config_.files.codec));
  weights_ = std::make_unique<Weights>(open(open_lm, config_, config_.files.weights));
  std::unique_ptr<HearingStage> encoder;
  mimi.build(
      [&] {
        encoder = spec.part(
            "encoder", [&] { return std::make_unique<HearingStage>(config_, *weights_, mimi); });
      },
      {"decoder.*", "decoder_transformer.*", "upsample.*", "quantizer.*.output_proj.weight",
       "quantizer.rvq_rest.vq.layers.*"});
  auto lm = load_part(spec, "lm", *weights_,
                      [&] { return load_lm(config_, *weights_, spec.weights); }, {"extra_heads.*"});
  name("kyutai_stt", spec, "see the checkpoint (Kyutai's are CC-BY-4.0)");
  const PartInfo mimi_info{"encoder", "Mimi, " + describe_codec(config_.mimi), encoder->bytes()};
  join(std::move(encoder), std::move(lm), config_.mimi.sample_rate, config_.mimi.hop(), 0,
       mimi_info);
}

DelayedText KyutaiStt::text_of(int) const {
  return {.width = config_.lm.hidden,
          .row_s = config_.frame_s(),
          .before = config_.frames_before(),
          .after = config_.frames_after(),
          .delay_s = config_.delay_s,
          .begin = static_cast<int32_t>(config_.text_in),
          .pad = config_.pad,
          .word_end = config_.word_end};
}

}  // namespace syrinx::kyutai_stt
