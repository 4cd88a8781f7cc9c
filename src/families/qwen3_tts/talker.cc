#include "families/qwen3_tts/talker.h"

namespace syrinx::qwen3_tts {

InnerCodes load_predictor(const PredictorConfig& config, const Weights& weights, const View& first,
                          WeightType type) {
  const int64_t wide = config.wide, narrow = config.decoder.hidden;
  InnerCodesParts parts{
      .decoder = InnerDecoder(config.decoder, weights.scope("model"), type, config.codebooks),
      .tables = {first},
      .heads = {}};
  const Weights tables = weights.scope("model").scope("codec_embedding");
  for (int64_t i = 0; i + 1 < config.codebooks; ++i) {
    const std::string number = std::to_string(i);
    parts.tables.push_back(tables.scope(number).take("weight", {config.code_vocab, wide}));
    parts.heads.push_back(load_linear(weights, "lm_head." + number, config.code_vocab, narrow,
                                      false, at_least_8_bits(type)));
  }
  if (wide != narrow) {
    parts.projection =
        load_linear(weights, "small_to_mtp_projection", narrow, wide, true, at_least_8_bits(type));
  }
  return InnerCodes(std::move(parts));
}

std::unique_ptr<CodecLm> load_talker(const TalkerSizes& sizes, const Weights& weights,
                                     std::unique_ptr<TextBeside> beside, WeightType type) {
  const int64_t hidden = sizes.decoder.hidden;
  CodecLmParts parts = lm_parts(sizes.decoder, weights.scope("model"), type, sizes.max_positions);
  parts.beside = std::move(beside);
  const View first = weights.scope("model").take("codec_embedding.weight", {sizes.vocab, hidden});
  parts.inner = std::make_unique<InnerCodes>(
      load_predictor(sizes.predictor, weights.scope("code_predictor"), first, type));
  parts.tables = parts.inner->tables();
  parts.heads.push_back(load_head(weights, "codec_head", sizes.vocab, hidden, type));
  return std::make_unique<CodecLm>(std::move(parts));
}

}  // namespace syrinx::qwen3_tts
