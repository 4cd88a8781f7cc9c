#include "families/spoken/inner_codes.h"

#include "kernels/copy.h"
#include "kernels/embedding.h"
#include "kernels/product_rows.h"

namespace syrinx {
namespace {

/// Returns the first code that the decoder makes: code 0 if it has one more head than tables.
/// Otherwise code 1, and the large decoder has the head of code 0.
int first_of(const InnerCodesParts& parts) {
  return parts.heads.size() > parts.tables.size() ? 0 : 1;
}

/// Returns entry `i` of a list, or its only entry if all codes share one.
template <typename T>
const T& of_code(const std::vector<T>& each, int i) {
  return each[each.size() == 1 ? 0 : static_cast<size_t>(i)];
}

}  // namespace

std::vector<int> InnerCodes::vocab() const {
  std::vector<int> sizes;
  for (const PackedLinear& head : parts_.heads) sizes.push_back(static_cast<int>(head.out()));
  return sizes;
}

void InnerCodes::move_to(Device device, WeightPlace& place) {
  place.move(device, parts_.decoder, parts_.projection, parts_.heads, parts_.tables);
}

/// Returns the decoder's input rows for code k. k = 0: the hidden row of each sequence. k = 1: two
/// rows of each sequence, the hidden row and code 0. Later: one row, the previous code.
View InnerCodes::inputs(StepContext& ctx, int k, const View& hidden, const View& codes) const {
  const int64_t emits = hidden.shape[0];
  const bool only_projected = k > 1 && !parts_.projection.empty();
  View x = ctx.arena.take({emits, hidden.shape[1]},
                          only_projected ? product_rows(parts_.projection, emits) : DType::kF32);
  if (k == 0) {
    copy(ctx, hidden, x);
  } else {
    embed_column(ctx, of_code(parts_.tables, k - 1), codes, k - 1, x);
  }
  if (k == 1) x = side_by_side(ctx, hidden, x);
  if (parts_.projection.empty()) return x;
  const View narrow = ctx.arena.take({x.shape[0], parts_.decoder.config().hidden}, DType::kF32);
  linear(ctx, parts_.projection, x, narrow);
  return narrow;
}

void InnerCodes::logits(StepContext& ctx, int k, const View& hidden, const View& codes,
                        const View& scratch, const View& out) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const PackedLinear& head = of_code(parts_.heads, k - first_of(parts_));
  parts_.decoder.run(ctx, k, inputs(ctx, k, hidden, codes), scratch, head, out);
}

}  // namespace syrinx
