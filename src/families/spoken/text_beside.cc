#include "families/spoken/text_beside.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/activation.h"
#include "kernels/copy.h"
#include "kernels/embedding.h"

namespace syrinx {

ResizeMlp::ResizeMlp(const Weights& weights, int64_t in, int64_t inner, int64_t out,
                     WeightType type)
    : fc1_(load_linear(weights, "linear_fc1", inner, in, true, at_least_8_bits(type))),
      fc2_(load_linear(weights, "linear_fc2", out, inner, true, at_least_8_bits(type))) {}

void ResizeMlp::move_to(Device device) { syrinx::move_to(device, fc1_, fc2_); }

void ResizeMlp::operator()(StepContext& ctx, const View& x, const View& out) const {
  const Arena::Mark mark(ctx.arena);
  const View inner = ctx.arena.take({x.shape[0], fc1_.out()}, DType::kF32);
  linear(ctx, fc1_, x, inner);
  activate(ctx, Activation::kSilu, inner, inner);
  linear(ctx, fc2_, inner, out);
}

TextBeside::TextBeside(const View& table, ResizeMlp projection, std::vector<int32_t> common,
                       std::optional<ResizeMlp> given)
    : table_(table),
      projection_(std::move(projection)),
      given_(std::move(given)),
      common_ids_(std::move(common)) {
  common_ = Tensor({std::ssize(common_ids_), projection_.out()}, DType::kF32);
  ThreadPool pool(1);
  Arena arena;
  StepContext ctx{pool, arena};
  project(ctx, common_ids_, common_);
}

size_t TextBeside::bytes() const {
  return projection_.bytes() + common_.bytes() + (given_ ? given_->bytes() : 0);
}

void TextBeside::move_to(Device device, WeightPlace& place) {
  place.move(device, projection_, table_, common_);
  if (given_) given_->move_to(device);
}

void TextBeside::project(StepContext& ctx, std::span<const int32_t> ids, const View& out) const {
  const Arena::Mark mark(ctx.arena);
  const View rows = ctx.arena.take({std::ssize(ids), projection_.in()}, DType::kF32);
  embed(ctx, table_, ids, rows);
  projection_(ctx, rows, out);
}

void TextBeside::project_vectors(StepContext& ctx, const TextRows& text,
                                 std::span<const GivenRow> vectors, const View& out) const {
  const Arena::Mark mark(ctx.arena);
  SYRINX_CHECK(given_, "[text] the model needs ids");
  const View rows = ctx.arena.take({out.shape[0], given_->in()}, DType::kF32);
  const int64_t common = std::ssize(common_ids_);
  for (size_t i = 0; i < text.rows.size(); ++i) {
    const int64_t vector = text.rows[i] - common;
    if (vector < 0 || vector >= text.vectors) continue;
    SYRINX_CHECK(!vectors[i].empty(), "[text] row ", i, " has neither id nor vector");
    store(ctx, vectors[i], rows.slice(vector, vector + 1));
  }
  (*given_)(ctx, rows, out);
}

TextRows TextBeside::find(std::span<const int32_t> ids, std::span<int32_t> rows,
                          std::span<int32_t> made) const {
  const int64_t common = std::ssize(common_ids_);
  TextRows text{rows, made, std::ranges::count(ids, -1)};
  int64_t vector = 0;
  size_t count = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0) {
      rows[i] = static_cast<int32_t>(common + vector++);
      continue;
    }
    const auto found = std::find(common_ids_.begin(), common_ids_.end(), ids[i]);
    rows[i] = static_cast<int32_t>(found - common_ids_.begin());
    if (found != common_ids_.end()) continue;
    rows[i] = static_cast<int32_t>(common + text.vectors + static_cast<int64_t>(count));
    made[count++] = ids[i];
  }
  text.made = made.first(count);
  return text;
}

void TextBeside::add(StepContext& ctx, const TextRows& text, std::span<const GivenRow> vectors,
                     const View& x) const {
  const Arena::Mark mark(ctx.arena);
  const int64_t common = std::ssize(common_ids_), first_made = common + text.vectors;
  const int64_t count = first_made + std::ssize(text.made);
  if (count == common) return embed(ctx, common_, text.rows, x, true);
  const View all = ctx.arena.take({count, x.shape[1]}, DType::kF32);
  copy(ctx, common_, all.slice(0, common));
  if (text.vectors > 0) project_vectors(ctx, text, vectors, all.slice(common, first_made));
  if (!text.made.empty()) project(ctx, text.made, all.slice(first_made, count));
  embed(ctx, all, text.rows, x, true);
}

}  // namespace syrinx
