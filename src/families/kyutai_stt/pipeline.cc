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
  Unigram words = config.transformers ? Unigram::from_json(path) : Unigram::from_model(path);
  check_ids(path, words.size(), config.text_out);
  return words;
}

/// The embedding tables: of the text [rows, H], of each codebook [card + 1, H].
struct Tables {
  View text;
  std::vector<View> codes;
};

Tables load_tables(const ModelConfig& config, const Weights& weights) {
  const int64_t width = config.lm.hidden, codes = config.card + 1, books = config.mimi.codebooks;
  Tables out;
  if (config.transformers) {
    const int64_t texts = config.text_in + 1;
    out.text =
        weights.take("model.embed_tokens.embed_tokens.weight", {texts + books * codes + 1, width});
    for (int64_t q = 0; q < books; ++q)
      out.codes.push_back(out.text.slice(texts + q * codes, texts + (q + 1) * codes));
    return out;
  }
  out.text = weights.take("text_emb.weight", {config.text_in + 1, width});
  for (int64_t q = 0; q < books; ++q)
    out.codes.push_back(weights.scope("emb", q).take("weight", {codes, width}));
  return out;
}

/// Returns patterns of Mimi's tensors that no encoder reads. `rest`: its scope of later codebooks.
NamePatterns unheard(const std::string& scope, const std::string& rest) {
  return {scope + "decoder.*", scope + "decoder_transformer.*", scope + "upsample.*",
          scope + "quantizer.*.output_proj.weight", scope + "quantizer." + rest + "layers.*"};
}

std::unique_ptr<DelayedLm> load_lm(const ModelConfig& config, const Weights& weights,
                                   const View& table, WeightType type) {
  PackedLinear pauses;
  if (config.pause_classes > 0) {
    pauses = load_linear(weights.scope("extra_heads"), std::to_string(kPauseHead),
                         config.pause_classes, config.lm.hidden, false, at_least_8_bits(type));
  }
  return std::make_unique<DelayedLm>(
      load_stream_decoder(config.lm, config.transformers ? weights.scope("model") : weights, type,
                          1),
      table,
      load_linear(weights, config.transformers ? "lm_head" : "text_linear", config.text_out,
                  config.lm.hidden, config.biased, at_least_8_bits(type)),
      0, std::move(pauses));
}

}  // namespace

KyutaiStt::KyutaiStt(const LoadSpec& spec)
    : config_(load_model_config(Config::load(join_path(spec.dir, "config.json")), spec.dir)) {
  texts_ = id_texts(open_words(spec, config_), config_.pad + 1, config_.text_out);
  std::unique_ptr<HearingStage> encoder;
  std::unique_ptr<DelayedLm> lm;
  const auto load = [&](const Weights& codec) {
    const Tables tables = load_tables(config_, *weights_);
    encoder = spec.part(
        "encoder", [&] { return std::make_unique<HearingStage>(config_, tables.codes, codec); });
    lm = spec.part("lm", [&] { return load_lm(config_, *weights_, tables.text, spec.weights); });
  };
  if (config_.transformers) {
    weights_ = std::make_unique<Weights>(weights_at(spec, spec.dir));
    const Weights codec = weights_->scope("codec_model");
    weights_->build([&] { load(codec); },
                    unheard("codec_model.", "acoustic_residual_vector_quantizer."));
  } else {
    const auto open = [&](auto&& stored, const auto& config, const std::string& name) {
      return spec.dummy ? dummy_weights({}) : stored(config, join_path(spec.dir, name));
    };
    const Weights codec(open(moshi::open_mimi, config_.mimi, config_.files.codec));
    weights_ = std::make_unique<Weights>(open(open_lm, config_, config_.files.weights));
    codec.build([&] { weights_->build([&] { load(codec); }, {"extra_heads.*"}); },
                unheard("", "rvq_rest.vq."));
  }
  move_networks(spec, "encoder", *encoder, "lm", *lm);
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
          .begin = config_.begin,
          .pad = config_.pad,
          .word_end = config_.word_end};
}

}  // namespace syrinx::kyutai_stt
