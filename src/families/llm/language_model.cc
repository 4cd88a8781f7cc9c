#include "families/llm/language_model.h"

namespace syrinx::llm {

std::unique_ptr<CodecLm> load_language_model(const ModelConfig& config, const Weights& weights,
                                             WeightType type, int tap_block, IdRange ids) {
  CodecLmParts parts =
      lm_parts(config.lm, weights.scope(config.names.blocks), type, config.max_positions);
  parts.table_scale = config.table_scale;
  parts.logit_cap = config.logit_cap;
  parts.tap_block = tap_block;
  parts.drafts = ids.end == 0;
  const Shape shape{config.vocab, int64_t{config.lm.hidden}};
  const View table = parts.tables.emplace_back(weights.take(config.names.table, shape));
  const View head = config.tied ? table : weights.take(config.names.head, shape);
  if (config.tied) weights.ignore(config.names.head);
  parts.heads.push_back(tied_head(ids.end > 0 ? head.slice(ids.begin, ids.end) : head, type));
  return std::make_unique<CodecLm>(std::move(parts));
}

}  // namespace syrinx::llm
