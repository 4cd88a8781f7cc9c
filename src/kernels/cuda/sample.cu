// Sampling, with one block per row. Steps, order and ties are those of kernels/sample.cc, so that
// equal logits and an equal seed yield the same id. Sums over candidates are made in the same order
// in double. Sums over a whole vocabulary are exact integers here (weights in 43-bit fixed point),
// and rounded floats on the CPU: a draw within about 1e-7 of a boundary may differ.
//
// Work is done on the allowed logits alone, packed: "index" counts allowed ids in rising order.
#include "kernels/cuda/gpu.cuh"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/philox.h"
#include "kernels/cuda/sample_call.h"
#include "kernels/cuda/state.h"

namespace syrinx::cuda {
namespace {

constexpr int kThreads = 512, kWarps = kThreads / 32;
constexpr int kCandidates = 2048;          // most candidates that are sorted
constexpr float kColdest = 1e-5f;          // as in sample.cc
constexpr double kUnit = 8796093022208.0;  // 2^43: fixed-point weight of 1

struct Candidate {
  float logit;
  int index;
};

struct Room {
  Candidate best[kCandidates];
  double weight[kCandidates];
  unsigned long long sums[kWarps];
  float tops[kWarps];
  unsigned found;
  int answer;
};

/// The ranges of allowed ids, clipped to the vocabulary.
struct Allowed {
  int begin[SampleRule::kMostRanges], end[SampleRule::kMostRanges], ranges, count;
  __device__ int id_of(int index) const {
    int r = 0;
    while (r + 1 < ranges && index >= end[r] - begin[r]) {
      index -= end[r] - begin[r];
      ++r;
    }
    return begin[r] + index;
  }
  __device__ int index_of(int id) const {  // -1: not allowed
    int before = 0;
    for (int r = 0; r < ranges; ++r) {
      if (id >= begin[r] && id < end[r]) return before + id - begin[r];
      before += end[r] - begin[r];
    }
    return -1;
  }
};

__device__ Allowed allowed_of(const SampleRule& rule, int64_t vocabulary) {
  Allowed a;
  const int v = static_cast<int>(vocabulary);
  a.ranges = a.count = 0;
  if (rule.ranges == 0) {
    a.begin[0] = 0, a.end[0] = a.count = v, a.ranges = 1;
    return a;
  }
  for (int r = 0; r < rule.ranges; ++r) {
    const int begin = rule.allowed[r].begin > 0 ? rule.allowed[r].begin : 0;
    const int end = rule.allowed[r].end < v ? rule.allowed[r].end : v;
    if (begin >= end) continue;
    a.begin[a.ranges] = begin, a.end[a.ranges++] = end;
    a.count += end - begin;
  }
  return a;
}

__device__ unsigned long long block_total(unsigned long long x, Room& room) {
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(gpu::kFullWarp, x, step);
  __syncthreads();
  if (threadIdx.x % 32 == 0) room.sums[threadIdx.x / 32] = x;
  __syncthreads();
  unsigned long long total = 0;
  for (int w = 0; w < kWarps; ++w) total += room.sums[w];
  return total;
}

__device__ float block_top(float x, Room& room) {
  x = gpu::warp_max(x);
  __syncthreads();
  if (threadIdx.x % 32 == 0) room.tops[threadIdx.x / 32] = x;
  __syncthreads();
  float top = room.tops[0];
  for (int w = 1; w < kWarps; ++w) top = fmaxf(top, room.tops[w]);
  return top;
}

/// Returns the order of a logit; adding 0 converts -0 to 0.
__device__ uint32_t order_at(float logit) { return order_of(__float_as_uint(logit + 0.f)); }

__device__ double weight_of(float logit, float top) { return ::exp(double{logit} - top); }
__device__ unsigned long long mass_of(float logit, float top) {
  return static_cast<unsigned long long>(weight_of(logit, top) * kUnit);
}

/// The row during sampling: packed logits, their number, and the largest of them.
struct Row {
  float* x;
  int count;
  float top;
};

/// The indices [begin, end) of this thread, for draws in the order of ids.
struct Share {
  int begin, end;
};
__device__ Share share_of(const Row& row) {
  const int each = (row.count + kThreads - 1) / kThreads;
  const int begin = static_cast<int>(threadIdx.x) * each;
  return {begin < row.count ? begin : row.count,
          begin + each < row.count ? begin + each : row.count};
}

/// Returns the sum of `mine` over the threads before this one; `total` gets the sum over all
/// threads, in every thread.
__device__ unsigned long long sum_before(unsigned long long mine, Room& room,
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

/// Draws without filters: returns the index at which the mass, in the order of ids, exceeds u of
/// the total.
__device__ int draw_from_all(const Row& row, double u, Room& room) {
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

/// Returns the `nth` index (from 0) whose logit has this order.
__device__ int nth_equal(const Row& row, uint32_t order, unsigned long long nth, Room& room) {
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

__device__ unsigned long long count_from(const Row& row, uint32_t order, Room& room) {
  unsigned long long mine = 0;
  for (int i = static_cast<int>(threadIdx.x); i < row.count; i += kThreads)
    mine += order_at(row.x[i]) >= order;
  return block_total(mine, room);
}
__device__ unsigned long long mass_from(const Row& row, uint32_t order, Room& room) {
  unsigned long long mine = 0;
  for (int i = static_cast<int>(threadIdx.x); i < row.count; i += kThreads)
    if (order_at(row.x[i]) >= order) mine += mass_of(row.x[i], row.top);
  return block_total(mine, room);
}

/// Collects all logits with an order of at least `bar`, sorted best first in room.best. Returns
/// their number; -1 if they are too many, because of ties.
__device__ int collect(const Row& row, uint32_t bar, Room& room) {
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
  // Bitonic sort: makes the result independent of the order of the atomics.
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

/// Returns an order that at least `need` logits reach, and not many more.
__device__ uint32_t bar_for(const Row& row, int need, Room& room) {
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

/// Returns how many of the sorted candidates top-p keeps (sample.cc, nucleus).
__device__ int nucleus(const Room& room, int count, double total, double p) {
  double before = 0;
  int keep = 0;
  while (keep < count && (keep == 0 || before < p * total)) before += room.weight[keep++];
  return keep;
}

__device__ double sum_of(const Room& room, int count) {
  double total = 0;
  for (int i = 0; i < count; ++i) total += room.weight[i];
  return total;
}

__device__ int draw_sorted(const Room& room, int count, double u) {
  double left = u * sum_of(room, count);
  for (int i = 0; i < count; ++i) {
    left -= room.weight[i];
    if (left < 0) return room.best[i].index;
  }
  return room.best[0].index;
}

/// Filters and draws among `found` sorted candidates, in one thread. Returns -1 if top-p needs more
/// candidates. whole: mass of the whole row, for filters that need it.
__device__ int filter_and_draw(const SampleParams& p, const Row& row, const Room& room, int found,
                               double whole, double u) {
  const bool use_k = p.top_k > 0 && p.top_k < row.count, use_p = p.top_p < 1;
  const auto at_least = [&](int count) {  // min-p
    int keep = 1;
    while (keep < count && room.weight[keep] >= p.min_p) ++keep;
    return keep < count ? keep : count;
  };
  int count = found;
  if (p.min_p_first && p.min_p > 0) {
    count = at_least(count);
    if (use_p) count = nucleus(room, count, sum_of(room, count), p.top_p);
    return draw_sorted(room, count, u);
  }
  if (use_k) {
    const float kth = room.best[p.top_k - 1].logit;
    count = p.top_k;
    if (p.ras_window > 0) {
      if (use_p) count = nucleus(room, count, whole, p.top_p);
    } else {
      while (count < found && room.best[count].logit == kth) ++count;
      if (use_p) count = nucleus(room, count, sum_of(room, count), p.top_p);
    }
  } else if (use_p) {
    count = nucleus(room, found, whole, p.top_p);
    if (count == found && found < row.count) return -1;
  }
  if (p.min_p > 0 && p.ras_window == 0) count = at_least(count);
  return draw_sorted(room, count, u);
}

/// Filters and draws in the same way for any number of remaining ids, by bisection over orders. The
/// filters keep everything above an order, and the first `ties` (by id) of the logits with that
/// order.
__device__ int filter_and_draw_many(const SampleParams& p, const Row& row, double u, Room& room) {
  const bool use_k = p.top_k > 0 && p.top_k < row.count, use_p = p.top_p < 1;
  const bool min_first = p.min_p_first && p.min_p > 0;
  const uint32_t top = order_at(row.top), lowest = order_at(-INFINITY);
  uint32_t bar = lowest;
  unsigned long long ties = ~0ull;  // logits of order `bar` that are kept
  const auto raise_to_min_p = [&] {
    // The predicate is monotonic: true for everything above the first order for which it is true.
    uint32_t low = lowest, high = top;  // true for high
    while (low < high) {
      const uint32_t middle = low + (high - low) / 2;
      if (weight_of(__uint_as_float(bits_of_order(middle)), row.top) >= p.min_p) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    if (high > bar) bar = high, ties = ~0ull;
  };
  if (min_first) {
    raise_to_min_p();
  } else if (use_k) {
    const auto k = static_cast<unsigned long long>(p.top_k);
    bar = gpu::highest(lowest, top, [&](uint32_t o) { return count_from(row, o, room) >= k; });
    if (p.ras_window > 0) ties = k - (bar == top ? 0 : count_from(row, bar + 1, room));
  }
  const auto mass_above = [&](uint32_t order) {
    return order >= top ? 0ull : mass_from(row, order + 1, room);
  };
  /// Returns the mass of the kept ids with an order of at least `order`.
  const auto surviving = [&](uint32_t order) {
    if (order > bar || ties == ~0ull) return mass_from(row, order > bar ? order : bar, room);
    return mass_above(bar) + ties * mass_of(__uint_as_float(bits_of_order(bar)), row.top);
  };
  if (use_p) {
    const bool of_all = !min_first && (!use_k || p.ras_window > 0);
    const unsigned long long total = of_all ? mass_from(row, lowest, room) : surviving(bar);
    const auto target =
        static_cast<unsigned long long>(::ceil(static_cast<double>(p.top_p) * double(total)));
    if (surviving(bar) >= target) {
      const uint32_t cut =
          gpu::highest(bar, top, [&](uint32_t o) { return surviving(o) >= target; });
      const unsigned long long each = mass_of(__uint_as_float(bits_of_order(cut)), row.top);
      const unsigned long long above = mass_above(cut);
      unsigned long long need = each > 0 && target > above ? (target - above + each - 1) / each : 1;
      if (cut == bar && need > ties) need = ties;
      bar = cut, ties = need;
    }
  }
  if (!min_first && p.min_p > 0 && p.ras_window == 0) raise_to_min_p();
  const auto target = static_cast<unsigned long long>(u * static_cast<double>(surviving(bar)));
  const uint32_t drawn = gpu::highest(bar, top, [&](uint32_t o) { return surviving(o) > target; });
  const unsigned long long each = mass_of(__uint_as_float(bits_of_order(drawn)), row.top);
  return nth_equal(row, drawn, each > 0 ? (target - mass_above(drawn)) / each : 0, room);
}

/// Returns the index drawn with top-k, top-p or min-p.
__device__ int draw_filtered(const SampleParams& p, const Row& row, double u, Room& room) {
  const bool use_k = p.top_k > 0 && p.top_k < row.count && !(p.min_p_first && p.min_p > 0);
  const bool use_p = p.top_p < 1;
  int found;
  double whole = 0;
  if (use_k || (use_p && !(p.min_p_first && p.min_p > 0))) {
    const int wanted = use_k ? p.top_k : 1024;
    const int need = wanted < row.count ? wanted : row.count;
    found = need > kCandidates ? -1 : collect(row, bar_for(row, need, room), room);
    if (use_p && (!use_k || p.ras_window > 0))
      whole = static_cast<double>(mass_from(row, order_at(-INFINITY), room)) / kUnit;
  } else {  // the threshold is slightly too low; the exact test follows
    found = collect(row, order_at(row.top + logf(p.min_p) - 1e-3f), room);
  }
  if (found >= 0) {
    if (threadIdx.x == 0) room.answer = filter_and_draw(p, row, room, found, whole, u);
    __syncthreads();
    const int answer = room.answer;
    __syncthreads();
    if (answer >= 0) return answer;
  }
  return filter_and_draw_many(p, row, u, room);
}

/// Applies the repetition penalty to the history's logits (sample.cc, penalise). `seen`: a bit per
/// id.
__device__ void penalise(const SampleParams& p, const Allowed& allowed, const int32_t* history,
                         int count, int64_t vocabulary, float* x, unsigned* seen) {
  for (int i = static_cast<int>(threadIdx.x); i < (vocabulary + 31) / 32; i += kThreads)
    seen[i] = 0;
  __syncthreads();
  const int begin = p.penalty_window > 0 && p.penalty_window < count ? count - p.penalty_window : 0;
  for (int h = begin + static_cast<int>(threadIdx.x); h < count; h += kThreads) {
    const int id = history[h];
    const int index = id >= 0 && id < vocabulary ? allowed.index_of(id) : -1;
    if (index < 0) continue;
    const unsigned bit = 1u << (id % 32);
    if (atomicOr(&seen[id / 32], bit) & bit) continue;  // another thread processes this id
    int times = 1;
    if (p.penalty_each) {
      times = 0;
      for (int j = begin; j < count; ++j) times += history[j] == id;
    }
    float l = x[index];
    for (int n = 0; n < times; ++n) l = l < 0 ? l * p.repetition_penalty : l / p.repetition_penalty;
    x[index] = l;
  }
  __syncthreads();
}

__device__ bool repeats(const SampleParams& p, const int32_t* history, int count, int id) {
  int times = 0;
  for (int h = count > p.ras_window ? count - p.ras_window : 0; h < count; ++h)
    times += history[h] == id;
  return times >= p.ras_repeats;
}

/// Returns the index of the wanted id if it is among the best `wanted_among`; else -1.
__device__ int wanted_index(const SampleRule& rule, const Allowed& allowed, const Row& row,
                            Room& room) {
  if (rule.wanted < 0) return -1;
  const int index = allowed.index_of(rule.wanted);
  if (index < 0) return -1;
  const float own = row.x[index];
  if (own == -INFINITY) return -1;
  unsigned long long larger = 0;
  for (int i = static_cast<int>(threadIdx.x); i < row.count; i += kThreads)
    larger += row.x[i] > own ? 1 : 0;
  return block_total(larger, room) < static_cast<unsigned long long>(rule.wanted_among) ? index
                                                                                        : -1;
}

/// Returns the index for a row whose logits are ready; -1 if there is none.
__device__ int choose(const DeviceSampleRow& spec, const Allowed& allowed, const int32_t* history,
                      Row row, Room& room) {
  const SampleParams& p = spec.params;
  if (!(p.temperature > kColdest)) return nth_equal(row, order_at(row.top), 0, room);
  const double u = device_uniform(spec.seed, spec.step, spec.codebook, 0);
  const bool plain =
      (p.top_k <= 0 || p.top_k >= row.count) && p.top_p >= 1 && (p.min_p <= 0 || p.ras_window > 0);
  const int index = plain ? draw_from_all(row, u, room) : draw_filtered(p, row, u, room);
  if (p.ras_window <= 0 || !repeats(p, history, spec.history_count, allowed.id_of(index)))
    return index;
  // Repetition-aware sampling: draws again, from all other ids.
  __syncthreads();
  if (threadIdx.x == 0) row.x[index] = -INFINITY;
  __syncthreads();
  float top = -INFINITY;
  for (int i = static_cast<int>(threadIdx.x); i < row.count; i += kThreads)
    top = fmaxf(top, row.x[i]);
  row.top = block_top(top, room);
  if (row.top == -INFINITY) return index;
  return draw_from_all(row, device_uniform(spec.seed, spec.step, spec.codebook, 1), room);
}

__device__ void answer(const SampleCall& call, int id, SampleStatus status) {
  if (threadIdx.x != 0) return;
  const DeviceSampleRow& row = call.rows[blockIdx.x];
  call.ids[row.place] = id < 0 ? call.failed : id;
  if (row.again >= 0) call.ids[row.again] = call.ids[row.place];
  call.status[blockIdx.x * call.status_stride] = static_cast<int32_t>(status);
}

// Grid: rows.
__global__ void __launch_bounds__(kThreads) sample_rows(const __grid_constant__ SampleCall call) {
  __shared__ Room room;
  const DeviceSampleRow& spec = call.rows[blockIdx.x];
  const SampleParams& p = spec.params;
  if (spec.rule.forced >= 0) {
    const bool inside = spec.rule.forced < call.vocabulary;
    return answer(call, inside ? spec.rule.forced : -1,
                  inside ? SampleStatus::kOk : SampleStatus::kNothingAllowed);
  }
  const Allowed allowed = allowed_of(spec.rule, call.vocabulary);
  auto* seen = gpu::dynamic_shared<unsigned>();
  float* x = call.work ? call.work + blockIdx.x * call.vocabulary
                       : reinterpret_cast<float*>(seen + (call.vocabulary + 31) / 32);
  const float* from = call.logits + blockIdx.x * call.vocabulary;
  float top = -INFINITY;
  unsigned long long bad = 0;
  for (int i = static_cast<int>(threadIdx.x); i < allowed.count; i += kThreads) {
    const float l = from[allowed.id_of(i)];
    x[i] = l;
    if (!(l < INFINITY)) bad = 1;
    top = fmaxf(top, l);
  }
  if (block_total(bad, room) > 0) return answer(call, -1, SampleStatus::kNotFinite);
  top = block_top(top, room);
  if (top == -INFINITY) return answer(call, -1, SampleStatus::kNothingAllowed);

  const int32_t* history = call.history + spec.history_begin;
  if (p.repetition_penalty != 1 && spec.history_count > 0)
    penalise(p, allowed, history, spec.history_count, call.vocabulary, x, seen);
  const bool divide = p.temperature > kColdest && p.temperature != 1;
  __syncthreads();
  top = -INFINITY;
  for (int i = static_cast<int>(threadIdx.x); i < allowed.count; i += kThreads) {
    if (divide) x[i] /= p.temperature;
    top = fmaxf(top, x[i]);
  }
  top = block_top(top, room);
  if (!(top < INFINITY)) return answer(call, -1, SampleStatus::kNotFinite);
  const Row row{x, allowed.count, top};
  int index = wanted_index(spec.rule, allowed, row, room);
  if (index < 0) index = choose(spec, allowed, history, row, room);
  answer(call, index < 0 ? -1 : allowed.id_of(index),
         index < 0 ? SampleStatus::kNothingAllowed : SampleStatus::kOk);
}

}  // namespace

void launch_sample(StepContext& ctx, const SampleCall& call, int64_t rows) {
  SYRINX_CHECK(call.vocabulary <= 1 << 18, "[sample] a vocabulary of ", call.vocabulary,
               ", at most 2^18");
  const auto words = static_cast<size_t>((call.vocabulary + 31) / 32);
  const size_t shared = words * 4 + (call.work ? 0 : static_cast<size_t>(call.vocabulary) * 4);
  gpu::launch("sample", sample_rows, static_cast<unsigned>(rows), kThreads, shared, stream_of(ctx),
              call);
}

}  // namespace syrinx::cuda
