// Helpers for running one stream through layers with lookahead (nn/conv.h): outputs as views, and
// queues of rows that wait for a slower branch.
#pragma once

#include <vector>

#include "nn/conv.h"

namespace syrinx {

/// Runs a convolution on x [T, C]. `last`: no rows follow. Returns the output rows that no later
/// input can change, in the arena.
template <typename Conv>
View convolve_rows(StepContext& ctx, const Conv& conv, const View& x, bool last, ConvState& state) {
  const View out = ctx.arena.take({conv.rows(state, x.shape[0], last), conv.out()}, DType::kF32);
  const ConvJob job{x, &state, out, last};
  conv.run(ctx, std::span(&job, 1));
  return out;
}

/// Returns how many output rows are final after `rows` input rows if more rows may follow.
template <typename Conv>
int64_t certain_rows(const Conv& conv, int64_t rows) {
  return rows == 0 ? 0 : conv.rows(conv.open(), rows, false);
}

/// A queue of rows [.., width], first in, first out, in memory of one device. Grows as needed.
class RowQueue {
 public:
  explicit RowQueue(int64_t width = 1, Device device = Device::kCpu)
      : width_(width), device_(device) {}
  /// Returns a queue with copies of the rows.
  RowQueue clone() const;

  int64_t rows() const { return held_; }
  int64_t width() const { return width_; }
  /// Returns the rows [rows(), width]; valid until the next push.
  View view() const {
    return rows_.empty() ? View{nullptr, DType::kF32, {0, width_}, device_}
                         : rows_.view().slice(0, held_);
  }
  /// Copies the rows of x [.., width] to the end.
  void push(StepContext& ctx, const View& x);
  /// Removes the oldest `count` rows, and returns them in the arena.
  View pop(StepContext& ctx, int64_t count);
  /// Removes the oldest T rows and adds them to x [T, width]; T <= rows().
  void pop_into_sum(StepContext& ctx, const View& x);

 private:
  friend class QueueMoves;
  Tensor rows_;                   // [at least held_, width]
  std::vector<Tensor> outgrown_;  // earlier rows_, which queued work may read
  int64_t width_ = 1, held_ = 0;
  Device device_;
};

/// Rows that enter and leave a queue in one call: `fresh` [.., width] is pushed, then the oldest T
/// rows are removed and added to `sum` [T, width].
struct QueueSum {
  RowQueue* queue = nullptr;
  View fresh, sum;
};
/// Does this for several queues, each at most once.
void add_oldest(StepContext& ctx, std::span<const QueueSum> jobs);
/// As add_oldest, but writes the removed rows to `sum` instead of adding them.
void copy_oldest(StepContext& ctx, std::span<const QueueSum> jobs);

}  // namespace syrinx
