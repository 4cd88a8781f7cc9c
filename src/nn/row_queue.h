// For one stream at a time through layers that look ahead (nn/conv.h): their outputs as views, and
// rows that wait for partners from a slower branch.
#pragma once

#include <vector>

#include "nn/conv.h"

namespace syrinx {

/// Takes x [T, C]; `last`: nothing follows. Returns the rows that became certain, in the arena.
template <typename Conv>
View convolve_rows(StepContext& ctx, const Conv& conv, const View& x, bool last, ConvState& state) {
  const View out = ctx.arena.take({conv.rows(state, x.shape[0], last), conv.out()}, DType::kF32);
  const ConvJob job{x, &state, out, last};
  conv.run(ctx, std::span(&job, 1));
  return out;
}

/// Rows that are certain once `rows` have come in and more may follow.
template <typename Conv>
int64_t certain_rows(const Conv& conv, int64_t rows) {
  return rows == 0 ? 0 : conv.rows(conv.open(), rows, false);
}

/// Rows [.., width], first in, first out. Grows as needed.
class RowQueue {
 public:
  explicit RowQueue(int64_t width = 1) : width_(width) {}
  int64_t rows() const { return static_cast<int64_t>(values_.size()) / width_; }
  int64_t width() const { return width_; }
  void push(const View& x);
  /// The oldest `count` rows, moved into the arena.
  View pop(StepContext& ctx, int64_t count);
  /// x += the oldest rows of the queue, which leave it. x [T, width], T <= rows().
  void pop_into_sum(const View& x);

 private:
  void drop(int64_t count);
  int64_t width_;
  std::vector<float> values_;
};

}  // namespace syrinx
