// Limits of ids and log-probabilities, with one block per row. Sums are in double, in an order that
// depends only on the vocabulary.
#include <algorithm>

#include "kernels/cuda/gpu.cuh"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/state.h"
#include "kernels/id_limits.h"

namespace syrinx::cuda {
namespace {

constexpr int kThreads = 512, kWarps = kThreads / 32;

struct RoomOfSums {
  double sums[kWarps];
  float tops[kWarps];
};

/// Returns the sum over the block, in every thread.
__device__ double block_add(double x, RoomOfSums& room) {
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(gpu::kFullWarp, x, step);
  __syncthreads();
  if (threadIdx.x % 32 == 0) room.sums[threadIdx.x / 32] = x;
  __syncthreads();
  double total = room.sums[0];
  for (int w = 1; w < kWarps; ++w) total += room.sums[w];
  return total;
}

__device__ float top_of(const float* x, int64_t begin, int64_t end, RoomOfSums& room) {
  float top = -INFINITY;
  for (int64_t i = begin + threadIdx.x; i < end; i += kThreads) top = fmaxf(top, x[i]);
  return gpu::block_max<kWarps>(top, room.tops);
}

/// Returns the sum of e^(x - top) over [begin, end).
__device__ double sum_below(const float* x, int64_t begin, int64_t end, float top,
                            RoomOfSums& room) {
  double sum = 0;
  for (int64_t i = begin + threadIdx.x; i < end; i += kThreads) sum += ::exp(double{x[i] - top});
  return block_add(sum, room);
}

/// The limits of a row, on the device.
struct RowLimits {
  int32_t mask_begin, mask_count;  // words in LimitCall::masks; 0 words: all ids are allowed
  int32_t rather_from;
};

struct LimitCall {
  float* logits;
  int64_t vocabulary;
  const RowLimits* rows;
  const uint64_t* masks;
};

// Grid: rows.
__global__ void __launch_bounds__(kThreads) limit_rows(LimitCall a) {
  __shared__ RoomOfSums room;
  const RowLimits limits = a.rows[blockIdx.x];
  float* x = a.logits + blockIdx.x * a.vocabulary;
  const int64_t first = limits.rather_from;
  // A thread changes only numbers that it also reads itself afterwards.
  const auto limit = [&](int64_t begin, int64_t end) {
    for (int64_t id = begin + threadIdx.x; id < end && limits.mask_count > 0; id += kThreads) {
      const int64_t word = id / 64;
      const bool inside = word < limits.mask_count;
      if (!inside || (a.masks[limits.mask_begin + word] >> (id % 64) & 1) == 0) x[id] = -INFINITY;
    }
  };
  if (first <= 0 || first >= a.vocabulary) return limit(0, a.vocabulary);
  limit(0, first);
  limit(first, a.vocabulary);
  const float likeliest = top_of(x, 0, first, room);
  const float top = top_of(x, first, a.vocabulary, room);
  if (!(top > -INFINITY)) return;
  const double sum = sum_below(x, first, a.vocabulary, top, room);
  if (!(top + ::log(sum) > likeliest)) return;
  for (int64_t id = threadIdx.x; id < first; id += kThreads) x[id] = -INFINITY;
}

struct ScoreCall {
  const float* logits;
  int64_t vocabulary;
  const int32_t* ids;
  int64_t stride;  // numbers from the id of a row to that of the next
  float* out;
};

// Grid: rows.
__global__ void __launch_bounds__(kThreads) score_rows(ScoreCall a) {
  __shared__ RoomOfSums room;
  const float* x = a.logits + blockIdx.x * a.vocabulary;
  const float top = top_of(x, 0, a.vocabulary, room);
  const double sum = sum_below(x, 0, a.vocabulary, top, room);
  if (threadIdx.x != 0) return;
  const float drawn = x[a.ids[blockIdx.x * a.stride]];
  a.out[blockIdx.x] = static_cast<float>(drawn - top - ::log(sum));
}

}  // namespace

void limit_ids(StepContext& ctx, const View& logits, std::span<const IdLimits> rows) {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const std::span<RowLimits> list = take_array<RowLimits>(ctx, std::ssize(rows));
  int64_t words = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto count = static_cast<int32_t>(rows[i].mask.size());
    list[i] = {static_cast<int32_t>(words), count, rows[i].rather_from};
    words += count;
  }
  const std::span<uint64_t> masks = take_array<uint64_t>(ctx, words);
  auto to = masks.begin();
  for (const IdLimits& row : rows) to = std::ranges::copy(row.mask, to).out;
  const LimitCall call{logits.f32(), logits.shape[1], upload(ctx, std::span<const RowLimits>(list)),
                       upload(ctx, std::span<const uint64_t>(masks))};
  gpu::launch("limit_ids", limit_rows, static_cast<unsigned>(rows.size()), kThreads, 0,
              stream_of(ctx), call);
}

void log_probabilities(StepContext& ctx, const View& logits, const View& ids, int column,
                       const View& out) {
  const ScoreCall call{logits.f32(), logits.shape[1], ids.i32() + column, ids.shape[1], out.f32()};
  gpu::launch("log_probabilities", score_rows, static_cast<unsigned>(logits.shape[0]), kThreads, 0,
              stream_of(ctx), call);
}

}  // namespace syrinx::cuda
