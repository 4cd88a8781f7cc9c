#include "families/orpheus/speech_lm.h"

#include "nn/cache_type.h"

namespace syrinx::orpheus {

std::unique_ptr<CodecLm> load_lm(const ModelConfig& config, const Weights& weights,
                                 WeightType type) {
  const int64_t hidden = config.lm.hidden, begin = config.audio_begin();
  const Weights model = weights.scope("model");
  const View table = model.take("embed_tokens.weight", {config.vocab, hidden});
  const View head = config.tied ? table : weights.take("lm_head.weight", {config.vocab, hidden});
  if (config.tied) weights.ignore("lm_head.weight");
  CodecLmParts parts{Decoder(config.lm, model, type),
                     {table},
                     {},
                     config.lm.kv_spec(cache_type(type)),
                     config.max_positions};
  parts.heads.push_back(whole_head(
      PackedLinear::pack(head.slice(begin, begin + config.audio_ids()), at_least_8_bits(type))));
  return std::make_unique<CodecLm>(std::move(parts));
}

}  // namespace syrinx::orpheus
