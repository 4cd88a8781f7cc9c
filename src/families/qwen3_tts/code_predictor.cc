#include <algorithm>

#include "families/qwen3_tts/talker.h"
#include "kernels/embedding.h"

namespace syrinx::qwen3_tts {
namespace {

std::span<int32_t> take_ids(StepContext& ctx, int64_t count) {
  return {ctx.arena.take({count}, DType::kI32).i32(), static_cast<size_t>(count)};
}

}  // namespace

CodePredictor::CodePredictor(const ModelConfig& config, const Weights& weights, WeightType type)
    : decoder_(config.predictor, weights.scope("model"), type),
      kv_(config.predictor.kv_spec(type == WeightType::kF32 ? DType::kF32 : DType::kF16)) {
  const int64_t wide = config.talker.hidden, narrow = config.predictor.hidden;
  const Weights tables = weights.scope("model").scope("codec_embedding");
  for (int64_t i = 0; i + 1 < config.codebooks; ++i) {
    tables_.push_back(tables.scope(std::to_string(i)).take("weight", {config.code_vocab, wide}));
    heads_.push_back(load_linear(weights, "lm_head." + std::to_string(i), config.code_vocab, narrow,
                                 false, type));
  }
  if (config.projected()) {
    projection_ = load_linear(weights, "small_to_mtp_projection", narrow, wide, true, type);
  }
}

size_t CodePredictor::scratch_bytes(int emits) const {
  return KvPool::page_bytes(kv_) * static_cast<size_t>(std::max(emits, 1));
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
  const int64_t emits = hidden.shape[0], wide = hidden.shape[1], per_step = codes.shape[1];
  std::span<int32_t> ids = take_ids(ctx, emits);
  for (int64_t e = 0; e < emits; ++e) ids[e] = codes.i32()[e * per_step + k - 1];
  const View last = ctx.arena.take({emits, wide}, DType::kF32);
  embed(ctx, k == 1 ? first_table : tables_[k - 2], ids, last);
  View x = last;
  if (k == 1) {
    x = ctx.arena.take({2 * emits, wide}, DType::kF32);
    for (int64_t e = 0; e < emits; ++e) {
      std::copy_n(hidden.f32() + e * wide, wide, x.f32() + 2 * e * wide);
      std::copy_n(last.f32() + e * wide, wide, x.f32() + (2 * e + 1) * wide);
    }
  }
  if (projection_.empty()) return x;
  const View narrow = ctx.arena.take({x.shape[0], decoder_.config().hidden}, DType::kF32);
  linear(ctx, projection_, x, narrow);
  return narrow;
}

void CodePredictor::logits(StepContext& ctx, int k, const View& first_table, const View& hidden,
                           const View& codes, const View& scratch, const View& out) const {
  Arena::Mark mark(ctx.arena);
  const int64_t emits = hidden.shape[0];
  const int rows = k == 1 ? 2 : 1;
  const View x = inputs(ctx, k, first_table, hidden, codes);
  std::span<int32_t> row_begin = take_ids(ctx, emits + 1), kv_len = take_ids(ctx, emits);
  std::span<int32_t> pages = take_ids(ctx, emits), last = take_ids(ctx, emits);
  for (int64_t e = 0; e <= emits; ++e) row_begin[e] = static_cast<int32_t>(e * rows);
  for (int64_t e = 0; e < emits; ++e) {
    kv_len[e] = k + 1;
    pages[e] = static_cast<int32_t>(e);
    last[e] = row_begin[e + 1] - 1;
  }
  const KvPool kv(kv_, emits, scratch);
  decoder_.forward(ctx, x, {row_begin, kv_len, pages, 1}, kv);
  const View top = ctx.arena.take({emits, decoder_.config().hidden}, DType::kF32);
  decoder_.norm_rows(ctx, x, last, top);
  linear(ctx, heads_[k - 1], top, out);
}

}  // namespace syrinx::qwen3_tts
