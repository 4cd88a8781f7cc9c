// A row of logits that one block of threads samples (sample.cu): packed logits, sums over them, and
// searches by their sort keys. All threads of the block call each function together.
//
// Sums over candidates are in double, in the order in which the CPU adds them. Sums over a whole
// vocabulary are exact integers (weights in 43-bit fixed point).
#pragma once

#include "kernels/cuda/gpu.cuh"
#include "kernels/cuda/sample_call.h"
#include "kernels/cuda/state.h"

namespace syrinx::cuda {

constexpr int kThreads = 512, kWarps = kThreads / 32;
constexpr int kCandidates = 2048;          // most candidates that are sorted
constexpr float kColdest = 1e-5f;          // the same value as in sample.cc
constexpr double kUnit = 8796093022208.0;  // 2^43: the weight 1 in fixed point

struct Candidate {
  float logit;
  int index;
};

/// The ranges of allowed ids of a row.
struct Allowed {
  IdRange range[SampleRule::kMostRanges];
  int ranges, count;
  __device__ int id_of(int index) const {
    int r = 0;
    while (r + 1 < ranges && index >= range[r].end - range[r].begin) {
      index -= range[r].end - range[r].begin;
      ++r;
    }
    return range[r].begin + index;
  }
  __device__ int index_of(int id) const {  // -1 if the id is not allowed
    int before = 0;
    for (int r = 0; r < ranges; ++r) {
      if (id >= range[r].begin && id < range[r].end) return before + id - range[r].begin;
      before += range[r].end - range[r].begin;
    }
    return -1;
  }
};

struct Room {
  Candidate best[kCandidates];
  double weight[kCandidates];
  unsigned long long sums[kWarps];
  float tops[kWarps];
  Allowed allowed;  ///< in shared memory, because a thread's own array would be in local memory
  unsigned found;
  int answer;
};

/// Loads the ranges of a row into room.allowed.
__device__ inline void load_allowed(const SampleCall& call, const DeviceSampleRow& row,
                                    Room& room) {
  const auto thread = static_cast<int>(threadIdx.x);
  const IdRange* ranges = call.ranges + row.range_begin;
  if (thread < row.range_count) room.allowed.range[thread] = ranges[thread];
  if (thread == 0) {
    int count = 0;
    for (int r = 0; r < row.range_count; ++r) count += ranges[r].end - ranges[r].begin;
    room.allowed.ranges = row.range_count, room.allowed.count = count;
  }
  __syncthreads();
}

__device__ inline unsigned long long block_total(unsigned long long x, Room& room) {
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(gpu::kFullWarp, x, step);
  __syncthreads();
  if (threadIdx.x % 32 == 0) room.sums[threadIdx.x / 32] = x;
  __syncthreads();
  unsigned long long total = 0;
  for (int w = 0; w < kWarps; ++w) total += room.sums[w];
  return total;
}

/// Returns the sort key of a logit, an integer. Adding 0 converts -0 to 0.
__device__ inline uint32_t order_at(float logit) { return order_of(__float_as_uint(logit + 0.f)); }

__device__ inline double weight_of(float logit, float top) { return ::exp(double{logit} - top); }
__device__ inline unsigned long long mass_of(float logit, float top) {
  return static_cast<unsigned long long>(weight_of(logit, top) * kUnit);
}

/// The row during sampling: packed logits, their number, and the largest logit.
struct Row {
  float* x;
  int count;
  float top;
};

/// The indices [begin, end) of this thread in functions that add or count in the order of ids.
struct Share {
  int begin, end;
};
__device__ inline Share share_of(const Row& row) {
  const int each = (row.count + kThreads - 1) / kThreads;
  const int begin = static_cast<int>(threadIdx.x) * each;
  return {begin < row.count ? begin : row.count,
          begin + each < row.count ? begin + each : row.count};
}

/// Returns the sum of `mine` over the threads before this thread. Writes the sum over all threads
/// to `total`, in every thread.
__device__ inline unsigned long long sum_before(unsigned long long mine, Room& room,
                                                unsigned long long* total) {
  unsigned long long upto = mine;
  for (int step = 1; step < 32; step *= 2) {
    const unsigned long long other = __shfl_up_sync(gpu::kFullWarp, upto, step);
    if (static_cast<int>(threadIdx.x % 32) >= step) upto += other;
  }
  __syncthreads();
  if (threadIdx.x % 32 == 31) room.sums[threadIdx.x / 32] = upto;
  __syncthreads();
  unsigned long long before = upto - mine;
  *total = 0;
  for (int w = 0; w < kWarps; ++w) {
    if (w < static_cast<int>(threadIdx.x / 32)) before += room.sums[w];
    *total += room.sums[w];
  }
  return before;
}

/// Draws without filters: returns the index at which the mass, summed in the order of ids, exceeds
/// u times the total.
__device__ inline int draw_from_all(const Row& row, double u, Room& room) {
  const Share share = share_of(row);
  unsigned long long mine = 0, total;
  for (int i = share.begin; i < share.end; ++i) mine += mass_of(row.x[i], row.top);
  const unsigned long long before = sum_before(mine, room, &total);
  const auto target = static_cast<unsigned long long>(u * static_cast<double>(total));
  if (before <= target && target < before + mine) {
    unsigned long long upto = before;
    for (int i = share.begin; i < share.end; ++i) {
      upto += mass_of(row.x[i], row.top);
      if (upto > target) {
        room.answer = i;
        break;
      }
    }
  }
  __syncthreads();
  const int answer = room.answer;
  __syncthreads();
  return answer;
}

/// Returns index number `nth` (from 0) among the indices whose logit has the sort key `order`.
__device__ inline int nth_equal(const Row& row, uint32_t order, unsigned long long nth,
                                Room& room) {
  const Share share = share_of(row);
  unsigned long long mine = 0, total;
  for (int i = share.begin; i < share.end; ++i) mine += order_at(row.x[i]) == order;
  unsigned long long upto = sum_before(mine, room, &total);
  if (upto <= nth && nth < upto + mine) {
    for (int i = share.begin; i < share.end; ++i) {
      if (order_at(row.x[i]) != order) continue;
      if (upto++ == nth) room.answer = i;
    }
  }
  __syncthreads();
  const int answer = room.answer;
  __syncthreads();
  return answer;
}

__device__ inline unsigned long long count_from(const Row& row, uint32_t order, Room& room) {
  unsigned long long mine = 0;
  for (int i = static_cast<int>(threadIdx.x); i < row.count; i += kThreads)
    mine += order_at(row.x[i]) >= order;
  return block_total(mine, room);
}
__device__ inline unsigned long long mass_from(const Row& row, uint32_t order, Room& room) {
  unsigned long long mine = 0;
  for (int i = static_cast<int>(threadIdx.x); i < row.count; i += kThreads)
    if (order_at(row.x[i]) >= order) mine += mass_of(row.x[i], row.top);
  return block_total(mine, room);
}

/// Collects all logits with a sort key of at least `bar` in room.best, sorted best first. Returns
/// their number, or -1 if ties make them too many.
__device__ inline int collect(const Row& row, uint32_t bar, Room& room) {
  if (threadIdx.x == 0) room.found = 0;
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < row.count; i += kThreads) {
    if (order_at(row.x[i]) < bar) continue;
    const unsigned place = atomicAdd(&room.found, 1u);
    if (place < kCandidates) room.best[place] = {row.x[i], i};
  }
  __syncthreads();
  const int found = static_cast<int>(room.found);
  if (found > kCandidates) return -1;
  int size = 32;
  while (size < found) size *= 2;
  for (int i = found + static_cast<int>(threadIdx.x); i < size; i += kThreads)
    room.best[i] = {-INFINITY, 0x7fffffff};
  __syncthreads();
  // A bitonic sort: its result does not depend on the order of the atomic operations.
  for (int width = 2; width <= size; width *= 2) {
    for (int step = width / 2; step > 0; step /= 2) {
      for (int i = static_cast<int>(threadIdx.x); i < size; i += kThreads) {
        const int other = i ^ step;
        if (other <= i) continue;
        const Candidate a = room.best[i], b = room.best[other];
        const bool b_first = b.logit > a.logit || (b.logit == a.logit && b.index < a.index);
        if (b_first == ((i & width) == 0)) room.best[i] = b, room.best[other] = a;
      }
      __syncthreads();
    }
  }
  for (int i = static_cast<int>(threadIdx.x); i < found; i += kThreads)
    room.weight[i] = weight_of(room.best[i].logit, row.top);
  __syncthreads();
  return found;
}

/// Returns a sort key that at least `need` logits reach, but not many more logits.
__device__ inline uint32_t bar_for(const Row& row, int need, Room& room) {
  const unsigned long long want = static_cast<unsigned long long>(need);
  const unsigned long long plenty = need < 64 ? 128 : 2 * want;
  uint32_t low = order_at(-INFINITY), high = order_at(row.top);
  while (low < high) {
    const uint32_t middle = high - (high - low) / 2;
    const unsigned long long count = count_from(row, middle, room);
    if (count < want) {
      high = middle - 1;
    } else {
      low = middle;
      if (count <= plenty) break;
    }
  }
  return low;
}

}  // namespace syrinx::cuda
