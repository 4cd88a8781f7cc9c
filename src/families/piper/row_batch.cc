#include "families/piper/row_batch.h"

#include <algorithm>

#include "kernels/activation.h"

namespace syrinx::piper {

RowBatch rows_like(StepContext& ctx, const RowBatch& like, int64_t columns) {
  return {ctx.arena.take({like.rows(), columns}, DType::kF32), like.begin};
}

RowBatch take_batch(StepContext& ctx, std::span<const int64_t> counts, int64_t columns) {
  const std::span<int64_t> begin = take_array<int64_t>(ctx, std::ssize(counts) + 1);
  for (size_t i = 0; i < counts.size(); ++i) begin[i + 1] = begin[i] + counts[i];
  return {ctx.arena.take({begin.back(), columns}, DType::kF32), begin};
}

size_t LanePass::hold(const RowBatch& x) {
  held_[queue_] = x;
  return queue_++;
}

void LanePass::add_held(size_t queue, const RowBatch& x) {
  for (size_t i = 0; i < memory_.size(); ++i) {
    RowQueue& waiting = memory_[i]->queues[queue];
    const View to = x.lane(i), fresh = held_[queue].lane(i);
    const int64_t rows = to.shape[0], old = std::min(rows, waiting.rows());
    waiting.pop_into_sum(to.slice(0, old));
    add_inplace(ctx_, to.slice(old, rows), fresh.slice(0, rows - old));
    waiting.push(fresh.slice(rows - old, fresh.shape[0]));
  }
}

RowBatch LanePass::sum_held(std::span<const size_t> queues, int64_t columns) {
  const std::span<int64_t> counts = take_array<int64_t>(ctx_, std::ssize(memory_));
  for (size_t i = 0; i < counts.size(); ++i) {
    counts[i] = INT64_MAX;
    for (const size_t queue : queues) {
      const int64_t rows = memory_[i]->queues[queue].rows() + held_[queue].rows(i);
      counts[i] = std::min(counts[i], rows);
    }
  }
  const RowBatch out = take_batch(ctx_, counts, columns);
  std::fill_n(out.all.f32(), out.all.count(), 0.f);
  for (const size_t queue : queues) add_held(queue, out);
  return out;
}

}  // namespace syrinx::piper
