#include "families/qwen3_tts/code_predictor.h"

#include <algorithm>

#include "kernels/embedding.h"

namespace syrinx::qwen3_tts {
CodePredictor::CodePredictor(const PredictorConfig& config, const Weights& weights, WeightType type)
    : decoder_(config.decoder, weights.scope("model"), type, config.codebooks) {
  const int64_t wide = config.wide, narrow = config.decoder.hidden;
  const Weights tables = weights.scope("model").scope("codec_embedding");
  for (int64_t i = 0; i + 1 < config.codebooks; ++i) {
    tables_.push_back(tables.scope(std::to_string(i)).take("weight", {config.code_vocab, wide}));
    heads_.push_back(load_linear(weights, "lm_head." + std::to_string(i), config.code_vocab, narrow,
                                 false, at_least_8_bits(type)));
  }
  if (wide != narrow) {
    projection_ =
        load_linear(weights, "small_to_mtp_projection", narrow, wide, true, at_least_8_bits(type));
  }
}

void CodePredictor::move_to(Device device, MovedTables& moved) {
  decoder_.move_to(device);
  syrinx::move_to(device, projection_);
  for (PackedLinear& head : heads_) syrinx::move_to(device, head);
  for (View& table : tables_) table = moved.move(device, table);
}

size_t CodePredictor::bytes() const {
  size_t sum = decoder_.bytes() + projection_.bytes();
  for (const PackedLinear& head : heads_) sum += head.bytes();
  return sum;
}

/// Step 1 begins with two rows a sequence, the talker's hidden row and code 0; later one row, the
/// code before.
View CodePredictor::inputs(StepContext& ctx, int k, const View& first_table, const View& hidden,
                           const View& codes) const {
  const int64_t emits = hidden.shape[0], wide = hidden.shape[1];
  View x = ctx.arena.take({emits, wide}, DType::kF32);
  embed_column(ctx, k == 1 ? first_table : tables_[k - 2], codes, k - 1, x);
  if (k == 1) x = side_by_side(ctx, hidden, x);
  if (projection_.empty()) return x;
  const View narrow = ctx.arena.take({x.shape[0], decoder_.config().hidden}, DType::kF32);
  linear(ctx, projection_, x, narrow);
  return narrow;
}

void CodePredictor::logits(StepContext& ctx, int k, const View& first_table, const View& hidden,
                           const View& codes, const View& scratch, const View& out) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const View x = inputs(ctx, k, first_table, hidden, codes);
  const View top = decoder_.run(ctx, k, x, scratch);
  linear(ctx, heads_[k - 1], top, out);
}

}  // namespace syrinx::qwen3_tts
