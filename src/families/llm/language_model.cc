#include "families/llm/language_model.h"

#include "nn/cache_type.h"

namespace syrinx::llm {

std::unique_ptr<CodecLm> load_language_model(const ModelConfig& config, const Weights& weights,
                                             WeightType type, int tap_block) {
  CodecLmParts parts{.decoder = Decoder(config.lm, weights.scope(config.names.blocks), type),
                     .tables = {},
                     .heads = {},
                     .kv = config.lm.kv_spec(cache_type(type)),
                     .max_positions = config.max_positions,
                     .table_scale = config.table_scale,
                     .logit_cap = config.logit_cap,
                     .tap_block = tap_block,
                     .drafts = true};
  const Shape shape{config.vocab, int64_t{config.lm.hidden}};
  const View table = parts.tables.emplace_back(weights.take(config.names.table, shape));
  const View head = config.tied ? table : weights.take(config.names.head, shape);
  if (config.tied) weights.ignore(config.names.head);
  parts.heads.push_back(whole_head(PackedLinear::pack(head, at_least_8_bits(type))));
  return std::make_unique<CodecLm>(std::move(parts));
}

}  // namespace syrinx::llm
