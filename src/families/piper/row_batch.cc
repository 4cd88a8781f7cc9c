#include "families/piper/row_batch.h"

#include <algorithm>

#include "kernels/copy.h"
#include "kernels/embedding.h"

namespace syrinx::piper {

RowBatch rows_like(StepContext& ctx, const RowBatch& like, int64_t columns) {
  return {ctx.arena.take({like.rows(), columns}, DType::kF32), like.begin};
}

RowBatch take_batch(StepContext& ctx, std::span<const int64_t> counts, int64_t columns) {
  const std::span<int64_t> begin = take_array<int64_t>(ctx, std::ssize(counts) + 1);
  for (size_t i = 0; i < counts.size(); ++i) begin[i + 1] = begin[i] + counts[i];
  return {ctx.arena.take({begin.back(), columns}, DType::kF32), begin};
}

void add_to_lanes(StepContext& ctx, const RowBatch& x,
                  std::span<const std::span<const float>> vectors, size_t at) {
  if (vectors[0].empty() || x.rows() == 0) return;
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const auto lanes = static_cast<int64_t>(x.lanes()), width = x.all.shape[1];
  const View table = ctx.host.take({lanes, width}, DType::kF32);
  const std::span<int32_t> lane_of = take_array<int32_t>(ctx, x.rows());
  for (int64_t i = 0; i < lanes; ++i) {
    std::copy_n(vectors[i].data() + at, width, table.f32() + i * width);
    std::fill_n(lane_of.data() + x.begin[i], x.rows(i), static_cast<int32_t>(i));
  }
  embed(ctx, upload(ctx, table), lane_of, x.all, true);
}

size_t LanePass::hold(const RowBatch& x) {
  held_[queue_] = x;
  return queue_++;
}

void LanePass::add_held(size_t queue, const RowBatch& x) {
  const Arena::Mark mark(ctx_.host);
  const std::span<QueueSum> sums = take_array<QueueSum>(ctx_, std::ssize(memory_));
  for (size_t i = 0; i < sums.size(); ++i) {
    sums[i] = {&memory_[i]->queues[queue], held_[queue].lane(i), x.lane(i)};
  }
  add_oldest(ctx_, sums);
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
  const CopySpan zeros{nullptr, out.all.f32(), out.all.count()};
  copy_spans(ctx_, {&zeros, 1});
  for (const size_t queue : queues) add_held(queue, out);
  return out;
}

}  // namespace syrinx::piper
