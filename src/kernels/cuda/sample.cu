// Sampling, with one block per row. Steps, order and ties are those of kernels/sample.cc, so that
// equal logits and an equal seed yield the same id. Sums over candidates are in double, in the same
// order. Sums over a whole vocabulary are exact integers here (weights in 43-bit fixed point) and
// rounded floats on the CPU. So a draw within about 1e-7 of a boundary may differ.
//
// Only the allowed logits are processed, packed. An "index" counts allowed ids in rising order.
#include "kernels/cuda/gpu.cuh"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/philox.h"
#include "kernels/cuda/sample_call.h"
#include "kernels/cuda/sample_row.cuh"

namespace syrinx::cuda {
namespace {

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

/// Changes of the logits after the filters: the ids in `seen` get the repetition penalty, then all
/// logits are divided by the temperature.
struct Late {
  const Allowed* allowed;
  const unsigned* seen = nullptr;  ///< a bit per id; null without a penalty
  float penalty = 1, temperature = 1;

  __device__ float operator()(float logit, int index) const {
    if (seen) {
      const int id = allowed->id_of(index);
      if (seen[id / 32] >> (id % 32) & 1) logit = logit < 0 ? logit * penalty : logit / penalty;
    }
    return logit / temperature;
  }
};

/// The best ids of a row: all whose sort key is above `bar`, and the first `ties` that equal it.
struct Best {
  static constexpr unsigned long long kAll = ~0ull;
  uint32_t bar;
  unsigned long long ties = kAll;
};

__device__ Best best_of(const Row& row, int k, Room& room) {
  const uint32_t lowest = order_at(-INFINITY), top = order_at(row.top);
  const auto need = static_cast<unsigned long long>(k);
  const uint32_t bar = gpu::highest(
      lowest, top, [&](uint32_t order) { return count_from(row, order, room) >= need; });
  return {bar, need - (bar == top ? 0 : count_from(row, bar + 1, room))};
}

__device__ unsigned long long mass_above(const Row& row, uint32_t order, Room& room) {
  return order >= order_at(row.top) ? 0ull : mass_from(row, order + 1, room);
}
__device__ unsigned long long mass_at(const Row& row, uint32_t order) {
  return mass_of(__uint_as_float(bits_of_order(order)), row.top);
}
/// Returns the mass of those ids of `best` whose sort key is at least `order`.
__device__ unsigned long long mass_from(const Row& row, const Best& best, uint32_t order,
                                        Room& room) {
  if (order > best.bar || best.ties == Best::kAll)
    return mass_from(row, order > best.bar ? order : best.bar, room);
  return mass_above(row, best.bar, room) + best.ties * mass_at(row, best.bar);
}

/// Draws among the ids of `best`, in the order of ids, by the logits that `late` yields.
__device__ int draw_best(const Row& row, const Best& best, const Late& late, double u, Room& room) {
  const int last = best.ties == Best::kAll ? row.count
                   : best.ties == 0        ? -1
                                           : nth_equal(row, best.bar, best.ties - 1, room);
  const auto is_in = [&](int i, uint32_t order) {
    return order > best.bar || (order == best.bar && i <= last);
  };
  float top = -INFINITY;
  for (int i = static_cast<int>(threadIdx.x); i < row.count; i += kThreads)
    if (is_in(i, order_at(row.x[i]))) top = fmaxf(top, late(row.x[i], i));
  top = gpu::block_max<kWarps>(top, room.tops);
  const auto from = [&](uint32_t least) {
    unsigned long long mine = 0;
    for (int i = static_cast<int>(threadIdx.x); i < row.count; i += kThreads) {
      const uint32_t order = order_at(row.x[i]);
      if (order >= least && is_in(i, order)) mine += mass_of(late(row.x[i], i), top);
    }
    return block_total(mine, room);
  };
  const auto target = static_cast<unsigned long long>(u * static_cast<double>(from(best.bar)));
  const uint32_t drawn = gpu::highest(best.bar, order_at(row.top),
                                      [&](uint32_t order) { return from(order) > target; });
  const unsigned long long rest = target - (drawn == order_at(row.top) ? 0 : from(drawn + 1));
  const Share share = share_of(row);
  const auto own = [&](int i) {
    return order_at(row.x[i]) == drawn && is_in(i, drawn) ? mass_of(late(row.x[i], i), top) : 0ull;
  };
  unsigned long long mine = 0, total;
  for (int i = share.begin; i < share.end; ++i) mine += own(i);
  unsigned long long upto = sum_before(mine, room, &total);
  if (upto <= rest && rest < upto + mine) {
    for (int i = share.begin; i < share.end; ++i) {
      upto += own(i);
      if (upto > rest) {
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

/// Returns how many of `found` sorted candidates the filters keep; called by one thread. Returns -1
/// if top-p needs more candidates. whole: mass of the whole row, used by some filters.
__device__ int kept_of(const SampleParams& p, const Row& row, const Room& room, int found,
                       double whole) {
  const bool use_k = p.top_k > 0 && p.top_k < row.count, use_p = p.top_p < 1;
  const auto at_least = [&](int count) {  // the test of min-p
    int keep = 1;
    while (keep < count && room.weight[keep] >= p.min_p) ++keep;
    return keep < count ? keep : count;
  };
  int count = found;
  if (p.min_p_first && p.min_p > 0) {
    count = at_least(count);
    return use_p ? nucleus(room, count, sum_of(room, count), p.top_p) : count;
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
  return p.min_p > 0 && p.ras_window == 0 ? at_least(count) : count;
}

/// Applies the filters of kept_of() when any number of ids may remain, by bisection over sort keys.
__device__ Best keep_many(const SampleParams& p, const Row& row, Room& room) {
  const bool use_k = p.top_k > 0 && p.top_k < row.count, use_p = p.top_p < 1;
  const bool min_first = p.min_p_first && p.min_p > 0;
  const uint32_t top = order_at(row.top), lowest = order_at(-INFINITY);
  Best best{lowest};
  const auto raise_to_min_p = [&] {
    // The predicate is monotonic: if it is true for a sort key, it is true for all larger keys.
    uint32_t low = lowest, high = top;  // `high` always satisfies the predicate
    while (low < high) {
      const uint32_t middle = low + (high - low) / 2;
      if (weight_of(__uint_as_float(bits_of_order(middle)), row.top) >= p.min_p) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    if (high > best.bar) best = {high};
  };
  if (min_first) {
    raise_to_min_p();
  } else if (use_k) {
    best = best_of(row, p.top_k, room);
    if (p.ras_window == 0) best.ties = Best::kAll;
  }
  if (use_p) {
    const bool of_all = !min_first && (!use_k || p.ras_window > 0);
    const unsigned long long total = mass_from(row, of_all ? Best{lowest} : best, lowest, room);
    const auto target =
        static_cast<unsigned long long>(::ceil(static_cast<double>(p.top_p) * double(total)));
    if (mass_from(row, best, best.bar, room) >= target) {
      const uint32_t cut = gpu::highest(best.bar, top, [&](uint32_t order) {
        return mass_from(row, best, order, room) >= target;
      });
      const unsigned long long each = mass_at(row, cut), above = mass_above(row, cut, room);
      unsigned long long need = each > 0 && target > above ? (target - above + each - 1) / each : 1;
      if (cut == best.bar && need > best.ties) need = best.ties;
      best = {cut, need};
    }
  }
  if (!min_first && p.min_p > 0 && p.ras_window == 0) raise_to_min_p();
  return best;
}

/// Draws among the first `count` candidates by the logits that `late` yields; called by one thread.
/// top: a logit with the weight 1.
__device__ int draw_late(Room& room, int count, const Late& late, float top, double u) {
  for (int i = 0; i < count; ++i)
    room.weight[i] = weight_of(late(room.best[i].logit, room.best[i].index), top);
  return draw_sorted(room, count, u);
}

/// Runs `draw` in one thread, and returns its result in every thread.
template <typename F>
__device__ int by_one_thread(Room& room, const F& draw) {
  if (threadIdx.x == 0) room.answer = draw();
  __syncthreads();
  const int answer = room.answer;
  __syncthreads();
  return answer;
}

/// Returns the index drawn with top-k, top-p or min-p.
__device__ int draw_filtered(const SampleParams& p, const Row& row, const Late& late, double u,
                             Room& room) {
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
  } else {  // the threshold is slightly too low; the exact test follows below
    found = collect(row, order_at(row.top + logf(p.min_p) - 1e-3f), room);
  }
  if (found >= 0) {
    const int index = by_one_thread(room, [&] {
      const int count = kept_of(p, row, room, found, whole);
      if (count < 0) return -1;
      return late.seen ? draw_late(room, count, late, row.top, u) : draw_sorted(room, count, u);
    });
    if (index >= 0) return index;
  }
  return draw_best(row, keep_many(p, row, room), late, u, room);
}

/// Returns how many sorted candidates SampleParams::filter_first keeps; called by one thread.
/// Returns -1 if top-p needs more candidates.
__device__ int kept_first(const SampleParams& p, const Row& row, const Room& room, int found,
                          float top_p, double whole) {
  const bool use_k = p.top_k > 0 && p.top_k < row.count;
  const int count = use_k && p.top_k < found ? p.top_k : found;
  int keep = count;
  if (top_p < 1) {
    double left = double{top_p} * whole;
    keep = 0;
    while (keep < count && (left -= room.weight[keep]) >= 0) ++keep;
  }
  if (!use_k && keep == found && found < row.count) return -1;
  return keep > 0 ? keep : 1;
}

/// Applies the filter of kept_first() if any number of ids may remain, by bisection over sort keys.
__device__ Best keep_many_first(const SampleParams& p, const Row& row, float top_p,
                                unsigned long long whole, Room& room) {
  const bool use_k = p.top_k > 0 && p.top_k < row.count;
  const uint32_t top = order_at(row.top), lowest = order_at(-INFINITY);
  const Best best = use_k ? best_of(row, p.top_k, room) : Best{lowest};
  const auto most = static_cast<unsigned long long>(double{top_p} * static_cast<double>(whole));
  if (!(top_p < 1) || mass_from(row, best, best.bar, room) <= most) return best;
  const uint32_t cut = gpu::highest(
      best.bar, top, [&](uint32_t order) { return mass_from(row, best, order, room) > most; });
  const unsigned long long each = mass_at(row, cut), above = mass_above(row, cut, room);
  unsigned long long fit = each > 0 ? (most - above) / each : 0;
  if (cut == best.bar && fit > best.ties) fit = best.ties;
  return {cut, cut == top && fit == 0 ? 1 : fit};
}

/// Returns the index drawn with SampleParams::filter_first.
__device__ int draw_filtered_first(const SampleParams& p, const Row& row, const Late& late,
                                   float top_p, double u, Room& room) {
  const int wanted = p.top_k > 0 && p.top_k < row.count ? p.top_k : 1024;
  const int need = wanted < row.count ? wanted : row.count;
  const int found = need > kCandidates ? -1 : collect(row, bar_for(row, need, room), room);
  const unsigned long long whole = mass_from(row, order_at(-INFINITY), room);
  if (found >= 0) {
    const int index = by_one_thread(room, [&] {
      const int count = kept_first(p, row, room, found, top_p, static_cast<double>(whole) / kUnit);
      return count < 0 ? -1 : draw_late(room, count, late, row.top / late.temperature, u);
    });
    if (index >= 0) return index;
  }
  return draw_best(row, keep_many_first(p, row, top_p, whole, room), late, u, room);
}

/// Sets the bits of all ids in a history (as penalise_picked in sample.cc).
__device__ void mark(const int32_t* history, int count, int64_t vocabulary, unsigned* seen) {
  for (int i = static_cast<int>(threadIdx.x); i < (vocabulary + 31) / 32; i += kThreads)
    seen[i] = 0;
  __syncthreads();
  for (int h = static_cast<int>(threadIdx.x); h < count; h += kThreads) {
    const int id = history[h];
    if (id >= 0 && id < vocabulary) atomicOr(&seen[id / 32], 1u << (id % 32));
  }
  __syncthreads();
}

/// Applies the repetition penalty to the logits of the history (as penalise in sample.cc). `seen`
/// has a bit per id.
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

/// Returns the index of the wanted id if it is among the best `wanted_among` ids; else -1.
__device__ int wanted_index(const DeviceSampleRow& spec, const Allowed& allowed, const Row& row,
                            Room& room) {
  if (spec.wanted < 0) return -1;
  const int index = allowed.index_of(spec.wanted);
  if (index < 0) return -1;
  const float own = row.x[index];
  if (own == -INFINITY) return -1;
  unsigned long long larger = 0;
  for (int i = static_cast<int>(threadIdx.x); i < row.count; i += kThreads)
    larger += row.x[i] > own ? 1 : 0;
  return block_total(larger, room) < static_cast<unsigned long long>(spec.wanted_among) ? index
                                                                                        : -1;
}

/// Returns whether the repetition penalty follows the filters (as penalised_last in sample.cc).
__device__ bool penalised_last(const SampleParams& p) {
  return p.penalty_last && p.temperature > kColdest;
}

/// Returns the drawn index of a row whose logits are ready, or -1 if no id can be drawn. `late` has
/// the penalty that follows the filters.
__device__ int choose(const DeviceSampleRow& spec, const Allowed& allowed, const int32_t* history,
                      Row row, Late late, Room& room) {
  const SampleParams& p = spec.params;
  if (!(p.temperature > kColdest)) return nth_equal(row, order_at(row.top), 0, room);
  const double u = device_uniform(spec.seed, spec.step, spec.codebook, 0);
  int index;
  if (p.filter_first) {
    late.temperature = p.temperature;
    index = draw_filtered_first(p, row, late, p.top_p, u, room);
  } else {
    const bool plain = (p.top_k <= 0 || p.top_k >= row.count) && p.top_p >= 1 &&
                       (p.min_p <= 0 || p.ras_window > 0) && !penalised_last(p);
    index = plain ? draw_from_all(row, u, room) : draw_filtered(p, row, late, u, room);
  }
  if (p.ras_window <= 0 || !repeats(p, history, spec.history_count, allowed.id_of(index)))
    return index;
  const double again = device_uniform(spec.seed, spec.step, spec.codebook, 1);
  if (p.filter_first) {
    late.temperature = p.ras_temperature;
    return draw_filtered_first(p, row, late, p.ras_top_p, again, room);
  }
  // Repetition-aware sampling: draws again, among all other ids.
  __syncthreads();
  if (threadIdx.x == 0) row.x[index] = -INFINITY;
  __syncthreads();
  float top = -INFINITY;
  for (int i = static_cast<int>(threadIdx.x); i < row.count; i += kThreads)
    top = fmaxf(top, row.x[i]);
  row.top = gpu::block_max<kWarps>(top, room.tops);
  if (row.top == -INFINITY) return index;
  return draw_from_all(row, again, room);
}

__device__ void answer(const SampleCall& call, int id, SampleStatus status) {
  if (threadIdx.x != 0) return;
  const DeviceSampleRow& row = call.rows[blockIdx.x];
  call.ids[row.place] = id < 0 ? call.failed : id;
  if (row.again >= 0) call.ids[row.again] = call.ids[row.place];
  call.status[blockIdx.x * call.status_stride] = static_cast<int32_t>(status);
}

/// Returns whether the row's mask, if it has one, allows an id.
__device__ bool in_mask(const SampleCall& call, const DeviceSampleRow& spec, int id) {
  if (spec.mask_count == 0) return true;
  const int word = id / 64;
  return word < spec.mask_count && (call.masks[spec.mask_begin + word] >> (id % 64) & 1) != 0;
}

// Grid: rows.
__global__ void __launch_bounds__(kThreads, 1)
    sample_rows(const __grid_constant__ SampleCall call) {
  __shared__ Room room;
  const DeviceSampleRow& spec = call.rows[blockIdx.x];
  const SampleParams& p = spec.params;
  if (spec.forced >= 0) {
    const bool inside = spec.forced < call.vocabulary;
    return answer(call, inside ? spec.forced : -1,
                  inside ? SampleStatus::kOk : SampleStatus::kNothingAllowed);
  }
  load_allowed(call, spec, room);
  const Allowed& allowed = room.allowed;
  auto* seen = gpu::dynamic_shared<unsigned>();
  float* x = call.work ? call.work + blockIdx.x * call.vocabulary
                       : reinterpret_cast<float*>(seen + (call.vocabulary + 31) / 32);
  const float* from = call.logits + blockIdx.x * call.vocabulary;
  float top = -INFINITY;
  unsigned long long bad = 0;
  for (int i = static_cast<int>(threadIdx.x); i < allowed.count; i += kThreads) {
    const int id = allowed.id_of(i);
    const float l = from[id];
    if (!(l < INFINITY)) bad = 1;
    x[i] = in_mask(call, spec, id) ? l : -INFINITY;
    top = fmaxf(top, x[i]);
  }
  if (block_total(bad, room) > 0) return answer(call, -1, SampleStatus::kNotFinite);
  top = gpu::block_max<kWarps>(top, room.tops);
  if (top == -INFINITY) return answer(call, -1, SampleStatus::kNothingAllowed);

  const int32_t* history = call.history + spec.history_begin;
  Late late{&allowed};
  if (p.repetition_penalty != 1 && spec.history_count > 0) {
    if (penalised_last(p)) {
      mark(history, spec.history_count, call.vocabulary, seen);
      late.seen = seen, late.penalty = p.repetition_penalty;
    } else {
      penalise(p, allowed, history, spec.history_count, call.vocabulary, x, seen);
    }
  }
  const bool divide = p.temperature > kColdest && p.temperature != 1 && !p.filter_first;
  __syncthreads();
  top = -INFINITY;
  for (int i = static_cast<int>(threadIdx.x); i < allowed.count; i += kThreads) {
    if (divide) x[i] /= p.temperature;
    top = fmaxf(top, x[i]);
  }
  top = gpu::block_max<kWarps>(top, room.tops);
  if (!(top < INFINITY)) return answer(call, -1, SampleStatus::kNotFinite);
  const Row row{x, allowed.count, top};
  int index = wanted_index(spec, allowed, row, room);
  if (index < 0) index = choose(spec, allowed, history, row, late, room);
  answer(call, index < 0 ? -1 : allowed.id_of(index),
         index < 0 ? SampleStatus::kNothingAllowed : SampleStatus::kOk);
}

}  // namespace

void launch_sample(StepContext& ctx, const SampleCall& call, int64_t rows) {
  SYRINX_CHECK(call.vocabulary <= 1 << 18, "[sample] a vocabulary of ", call.vocabulary,
               " ids exceeds the limit of 2^18");
  const auto words = static_cast<size_t>((call.vocabulary + 31) / 32);
  const size_t shared = words * 4 + (call.work ? 0 : static_cast<size_t>(call.vocabulary) * 4);
  gpu::launch("sample", sample_rows, static_cast<unsigned>(rows), kThreads, shared, stream_of(ctx),
              call);
}

}  // namespace syrinx::cuda
