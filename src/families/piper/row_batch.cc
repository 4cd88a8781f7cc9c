#include "families/piper/row_batch.h"

#include <algorithm>

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
  for (size_t i = 0; i < memory_.size(); ++i) memory_[i]->queues[queue_].push(x.lane(i));
  return queue_++;
}

void LanePass::add_held(size_t queue, const RowBatch& x) {
  for (size_t i = 0; i < memory_.size(); ++i) memory_[i]->queues[queue].pop_into_sum(x.lane(i));
}

RowBatch LanePass::sum_held(std::span<const size_t> queues, int64_t columns) {
  const std::span<int64_t> counts = take_array<int64_t>(ctx_, std::ssize(memory_));
  for (size_t i = 0; i < counts.size(); ++i) {
    counts[i] = INT64_MAX;
    for (const size_t queue : queues) {
      counts[i] = std::min(counts[i], memory_[i]->queues[queue].rows());
    }
  }
  const RowBatch out = take_batch(ctx_, counts, columns);
  std::fill_n(out.all.f32(), out.all.count(), 0.f);
  for (const size_t queue : queues) add_held(queue, out);
  return out;
}

}  // namespace syrinx::piper
