#include "families/qwen3_tts/text_projection.h"

#include <algorithm>

#include "kernels/activation.h"
#include "kernels/copy.h"
#include "kernels/embedding.h"

namespace syrinx::qwen3_tts {

ResizeMlp::ResizeMlp(const Weights& weights, int64_t in, int64_t inner, int64_t out,
                     WeightType type)
    : fc1_(load_linear(weights, "linear_fc1", inner, in, true, at_least_8_bits(type))),
      fc2_(load_linear(weights, "linear_fc2", out, inner, true, at_least_8_bits(type))) {}

void ResizeMlp::move_to(Device device) {
  syrinx::move_to(device, fc1_);
  syrinx::move_to(device, fc2_);
}

void ResizeMlp::operator()(StepContext& ctx, const View& x, const View& out) const {
  const Arena::Mark mark(ctx.arena);
  const View inner = ctx.arena.take({x.shape[0], fc1_.out()}, DType::kF32);
  linear(ctx, fc1_, x, inner);
  activate(ctx, Activation::kSilu, inner, inner);
  linear(ctx, fc2_, inner, out);
}

TextProjection::TextProjection(const View& table, ResizeMlp projection, std::vector<int32_t> common)
    : table_(table), projection_(std::move(projection)), common_ids_(std::move(common)) {
  common_ = Tensor({std::ssize(common_ids_), projection_.out()}, DType::kF32);
  ThreadPool pool(1);
  Arena arena;
  StepContext ctx{pool, arena};
  project(ctx, common_ids_, common_);
}

void TextProjection::move_to(Device device, MovedTables& moved) {
  projection_.move_to(device);
  table_ = moved.move(device, table_);
  syrinx::move_to(device, common_);
}

void TextProjection::project(StepContext& ctx, std::span<const int32_t> ids,
                             const View& out) const {
  const Arena::Mark mark(ctx.arena);
  const View rows = ctx.arena.take({std::ssize(ids), projection_.in()}, DType::kF32);
  embed(ctx, table_, ids, rows);
  projection_(ctx, rows, out);
}

void TextProjection::add(StepContext& ctx, std::span<const int32_t> ids, const View& x,
                         const View& other) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const int64_t hidden = x.shape[1], common = std::ssize(common_ids_);
  const int64_t count = std::ssize(ids), others = other.empty() ? 0 : other.shape[0];
  // Rows to add: the common ones first, then those of `other`, then those that are made here.
  std::span<int32_t> rows = take_array<int32_t>(ctx, count), rare = take_array<int32_t>(ctx, count);
  int64_t made = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (ids[i] < 0) {
      rows[i] = static_cast<int32_t>(common - 1 - ids[i]);
      continue;
    }
    const auto found = std::find(common_ids_.begin(), common_ids_.end(), ids[i]);
    rows[i] = static_cast<int32_t>(found - common_ids_.begin());
    if (found != common_ids_.end()) continue;
    rows[i] = static_cast<int32_t>(common + others + made);
    rare[made++] = ids[i];
  }
  if (made + others == 0) return embed(ctx, common_, rows, x, true);
  const View all = ctx.arena.take({common + others + made, hidden}, DType::kF32);
  copy(ctx, common_, all.slice(0, common));
  if (others > 0) copy(ctx, other, all.slice(common, common + others));
  if (made > 0) project(ctx, rare.first(made), all.slice(common + others, all.shape[0]));
  embed(ctx, all, rows, x, true);
}

}  // namespace syrinx::qwen3_tts
