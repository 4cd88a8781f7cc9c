// Rows of several streams or texts, concatenated in one matrix, so that a layer can process all of
// them at once. A lane is the rows of one stream or text; results never depend on other lanes. An
// arena owns the memory. C: columns.
#pragma once

#include <span>
#include <vector>

#include "nn/row_queue.h"

namespace syrinx::piper {

struct RowBatch {
  View all;                        ///< f32 [rows, C]
  std::span<const int64_t> begin;  ///< first row of each lane, then the end of the last lane

  size_t lanes() const { return begin.size() - 1; }
  int64_t rows() const { return begin.back(); }
  int64_t rows(size_t lane) const { return begin[lane + 1] - begin[lane]; }
  View lane(size_t i) const { return all.slice(begin[i], begin[i + 1]); }
};

/// Adds to each row of x the vector of its lane: [C] from number `at` on. vectors[i]: numbers of
/// lane i in host memory; none or all are empty, and empty ones add nothing.
void add_to_lanes(StepContext& ctx, const RowBatch& x,
                  std::span<const std::span<const float>> vectors, size_t at = 0);
/// Allocates a batch of `columns` columns with the lanes of `like`; uninitialised.
RowBatch rows_like(StepContext& ctx, const RowBatch& like, int64_t columns);
/// Allocates a batch whose lane i has counts[i] rows; uninitialised.
RowBatch take_batch(StepContext& ctx, std::span<const int64_t> counts, int64_t columns);

/// State of a stream's layers between calls, in the order in which a pass uses them.
struct StreamMemory {
  std::vector<ConvState> convs;
  std::vector<RowQueue> queues;
};

/// One call of layers with lookahead, over several streams. A layer with a longer lookahead returns
/// its rows later, so rows that are added to them wait in queues. One thread; exists during the
/// call.
class LanePass {
 public:
  /// `last[i]`: whether stream i ends with these rows.
  LanePass(StepContext& ctx, std::span<StreamMemory* const> memory, std::span<const bool> last)
      : ctx_(ctx),
        memory_(memory),
        last_(last),
        held_(take_array<RowBatch>(ctx, std::ssize(memory[0]->queues))) {}

  StepContext& ctx() const { return ctx_; }

  /// Runs the next convolution of the pass. Returns the rows that later input cannot change. With a
  /// slope, a CausalConv1d reads leaky_relu(x, slope).
  template <typename Layer, typename... Slope>
  RowBatch convolve(const Layer& layer, const RowBatch& x, Slope... slope) {
    const size_t at = conv_++;
    const std::span<int64_t> counts = take_array<int64_t>(ctx_, std::ssize(memory_));
    for (size_t i = 0; i < counts.size(); ++i) {
      counts[i] = layer.rows(memory_[i]->convs[at], x.rows(i), last_[i]);
    }
    const RowBatch out = take_batch(ctx_, counts, layer.out());
    const Arena::Mark mark(ctx_.arena), host_mark(ctx_.host);
    const std::span<ConvJob> jobs = take_array<ConvJob>(ctx_, std::ssize(memory_));
    for (size_t i = 0; i < jobs.size(); ++i) {
      jobs[i] = {x.lane(i), &memory_[i]->convs[at], out.lane(i), last_[i]};
    }
    layer.run(ctx_, jobs, slope...);
    return out;
  }

  /// Puts the rows of x into the next queue of each stream. Returns the queue's number. Does not
  /// copy the rows, so x must stay valid until add_held() or sum_held() has read them.
  size_t hold(const RowBatch& x);
  /// Adds the oldest rows of a queue to x. The other rows wait for the next call. Call it once per
  /// queue.
  void add_held(size_t queue, const RowBatch& x);
  /// Returns the sum of the oldest rows of these queues, for the rows that all of them have.
  RowBatch sum_held(std::span<const size_t> queues, int64_t columns);

 private:
  StepContext& ctx_;
  std::span<StreamMemory* const> memory_;
  std::span<const bool> last_;
  std::span<RowBatch> held_;  // rows of this call, by queue
  size_t conv_ = 0, queue_ = 0;
};

}  // namespace syrinx::piper
