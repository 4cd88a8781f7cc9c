#include "kernels/sample.h"

#include <algorithm>
#include <cmath>

#include "base/cpu_features.h"
#include "kernels/cuda/kernels.h"
#include "kernels/sample_chances.h"
#include "kernels/sample_impl.h"

namespace syrinx {
namespace {

// At lower temperatures the divided logits could overflow, and the draw is certain anyway.
constexpr float kColdest = 1e-5f;

// The memory for sampling a row, in the arena. Each part of the work has its own.
struct Scratch {
  float* logits;      // [V]
  Candidate* picked;  // [V]
  uint64_t* seen;     // [V / 64 + 1], all zero between rows
};

struct Loops {
  decltype(&ref::copy_logits) copy;
  decltype(&ref::divide) divide;
  decltype(&ref::collect) collect;
  decltype(&ref::exp_sum) exp_sum;
};

Loops loops() {
  if (cpu_features().simd())
    return {&simd::copy_logits, &simd::divide, &simd::collect, &simd::exp_sum};
  return {&ref::copy_logits, &ref::divide, &ref::collect, &ref::exp_sum};
}

bool better(const Candidate& a, const Candidate& b) {
  return a.logit > b.logit || (a.logit == b.logit && a.id < b.id);
}

bool in_mask(std::span<const uint64_t> mask, int64_t id) {
  const auto word = static_cast<size_t>(id) / 64;
  return word < mask.size() && (mask[word] >> (id % 64) & 1) != 0;
}

bool is_allowed(const SampleRule& rule, int32_t id) {
  if (!rule.mask.empty() && !in_mask(rule.mask, id)) return false;
  if (rule.ranges == 0) return true;
  for (int r = 0; r < rule.ranges; ++r)
    if (id >= rule.allowed[r].begin && id < rule.allowed[r].end) return true;
  return false;
}

/// Applies the repetition penalty once per distinct id of the history (transformers,
/// RepetitionPenaltyLogitsProcessor), or once per occurrence (Zonos:zonos/sampling.py).
void penalise(const SampleRow& row, int64_t vocabulary, Scratch& s) {
  const float p = row.params.repetition_penalty;
  std::span<const int32_t> history = row.history;
  const size_t window = static_cast<size_t>(std::max(row.params.penalty_window, 0));
  if (window && window < history.size()) history = history.last(window);
  for (const int32_t id : history) {
    if (id < 0 || id >= vocabulary || !is_allowed(row.rule, id)) continue;
    uint64_t& word = s.seen[id / 64];
    if ((word >> (id % 64) & 1) && !row.params.penalty_each) continue;
    word |= uint64_t{1} << (id % 64);
    float& l = s.logits[id];
    l = l < 0 ? l * p : l / p;
  }
  for (const int32_t id : history)
    if (id >= 0 && id < vocabulary) s.seen[id / 64] = 0;
}

/// Returns whether the repetition penalty follows the filters. Returns false if the best id is
/// chosen, because this needs no filters.
bool penalised_last(const SampleParams& p) { return p.penalty_last && p.temperature > kColdest; }

/// Applies the repetition penalty after the filters: once to each candidate that occurs in the
/// history.
void penalise_picked(const SampleRow& row, int64_t vocabulary, int64_t count, Scratch& s) {
  const float p = row.params.repetition_penalty;
  if (!penalised_last(row.params) || p == 1) return;
  const auto each = [&](auto&& change) {
    for (const int32_t id : row.history)
      if (id >= 0 && id < vocabulary) change(s.seen[id / 64], uint64_t{1} << (id % 64));
  };
  each([](uint64_t& word, uint64_t bit) { word |= bit; });
  for (int64_t i = 0; i < count; ++i) {
    auto& [logit, id] = s.picked[i];
    if (s.seen[id / 64] >> (id % 64) & 1) logit = logit < 0 ? logit * p : logit / p;
  }
  each([](uint64_t& word, uint64_t) { word = 0; });
}

/// The ranges of allowed ids, clipped to the vocabulary.
struct Allowed {
  std::array<IdRange, SampleRule::kMostRanges> range{};
  int count = 0;
  int64_t ids = 0;
};

Allowed allowed_ranges(const SampleRule& rule, int64_t vocabulary) {
  Allowed out;
  const int32_t end = static_cast<int32_t>(vocabulary);
  if (rule.ranges == 0) return {{IdRange{0, end}}, 1, vocabulary};
  for (int r = 0; r < rule.ranges; ++r) {
    const IdRange clipped{std::max(rule.allowed[r].begin, 0), std::min(rule.allowed[r].end, end)};
    if (clipped.begin >= clipped.end) continue;
    out.range[out.count++] = clipped;
    out.ids += clipped.end - clipped.begin;
  }
  return out;
}

/// Collects the k best ids and all ids that tie with the k-th, in any order. Scans the logits in
/// pieces, and raises the threshold whenever enough better ids were found.
int64_t collect_top(const Loops& f, const Allowed& allowed, int64_t k, Scratch& s) {
  constexpr int64_t kPiece = 1024;
  float bar = -INFINITY;
  int64_t found = 0, cut_at = std::max<int64_t>(2 * k, 256);
  const auto cut = [&] {
    std::nth_element(s.picked, s.picked + (k - 1), s.picked + found, better);
    bar = s.picked[k - 1].logit;
    found = std::partition(s.picked + k, s.picked + found,
                           [bar](const Candidate& c) { return c.logit == bar; }) -
            s.picked;
    cut_at = std::max<int64_t>({2 * k, 256, 2 * found});
  };
  for (int r = 0; r < allowed.count; ++r) {
    for (int64_t i = allowed.range[r].begin; i < allowed.range[r].end; i += kPiece) {
      const int64_t end = std::min<int64_t>(i + kPiece, allowed.range[r].end);
      found += f.collect(s.logits, i, end, bar, s.picked + found);
      if (found >= cut_at) cut();
    }
  }
  if (found > k) cut();
  return found;
}

int64_t collect_all(const Loops& f, const Allowed& allowed, float least, Scratch& s) {
  int64_t found = 0;
  for (int r = 0; r < allowed.count; ++r)
    found +=
        f.collect(s.logits, allowed.range[r].begin, allowed.range[r].end, least, s.picked + found);
  return found;
}

double mass_of(const Loops& f, const Allowed& allowed, float top, const Scratch& s) {
  double total = 0;
  for (int r = 0; r < allowed.count; ++r)
    total += f.exp_sum(s.logits + allowed.range[r].begin,
                       allowed.range[r].end - allowed.range[r].begin, top);
  return total;
}

double weight_of(const Candidate& c, float top) { return std::exp(double{c.logit} - top); }

/// Returns how many of `count` candidates top-p keeps. The best comes first. Top-p keeps a
/// candidate if all better ones together have less than p of `total`, and at least one candidate.
/// Returns `count` if the sum does not reach p.
int64_t nucleus(const Candidate* best_first, int64_t count, float top, double total, double p) {
  double before = 0;
  int64_t keep = 0;
  while (keep < count && (keep == 0 || before < p * total))
    before += weight_of(best_first[keep++], top);
  return keep;
}

/// Applies top-k, top-p and min-p; the remaining ids are in s.picked, best first.
int64_t survivors(const Loops& f, const SampleParams& p, const Allowed& allowed, float top,
                  Scratch& s) {
  const bool use_k = p.top_k > 0 && p.top_k < allowed.ids;
  const bool use_p = p.top_p < 1;
  int64_t count;
  if (p.min_p_first && p.min_p > 0) {
    // The threshold is slightly too low; the exact test follows below.
    count = collect_all(f, allowed, top + std::log(p.min_p) - 1e-3f, s);
    std::sort(s.picked, s.picked + count, better);
    int64_t keep = 1;
    while (keep < count && weight_of(s.picked[keep], top) >= p.min_p) ++keep;
    count = std::min(keep, count);
    double total = 0;
    for (int64_t i = 0; i < count; ++i) total += weight_of(s.picked[i], top);
    return use_p ? nucleus(s.picked, count, top, total, p.top_p) : count;
  }
  if (use_k) {
    count = collect_top(f, allowed, p.top_k, s);
    std::sort(s.picked, s.picked + count, better);
    if (p.ras_window > 0) {
      count = std::min<int64_t>(count, p.top_k);
      if (use_p) count = nucleus(s.picked, count, top, mass_of(f, allowed, top, s), p.top_p);
    } else if (use_p) {
      double total = 0;
      for (int64_t i = 0; i < count; ++i) total += weight_of(s.picked[i], top);
      count = nucleus(s.picked, count, top, total, p.top_p);
    }
  } else if (use_p) {
    // Sorts only as many candidates as top-p needs, which is nearly always a few hundred.
    const double total = mass_of(f, allowed, top, s);
    for (int64_t k = 256;; k *= 8) {
      const bool whole = k >= allowed.ids;
      count = whole ? collect_all(f, allowed, -INFINITY, s) : collect_top(f, allowed, k, s);
      std::sort(s.picked, s.picked + count, better);
      const int64_t keep = nucleus(s.picked, count, top, total, p.top_p);
      if (whole || keep < count) {
        count = keep;
        break;
      }
    }
  } else {
    // With min-p alone, the threshold is slightly too low; the exact test follows below.
    const float least =
        p.min_p > 0 && p.ras_window == 0 ? top + std::log(p.min_p) - 1e-3f : -INFINITY;
    count = collect_all(f, allowed, least, s);
    std::sort(s.picked, s.picked + count, better);
  }
  if (p.min_p > 0 && p.ras_window == 0) {
    int64_t keep = 1;
    while (keep < count && weight_of(s.picked[keep], top) >= p.min_p) ++keep;
    count = std::min(keep, count);
  }
  return count;
}

int32_t draw(const Candidate* from, int64_t count, float top, double u) {
  double total = 0;
  for (int64_t i = 0; i < count; ++i) total += weight_of(from[i], top);
  double left = u * total;
  for (int64_t i = 0; i < count; ++i) {
    left -= weight_of(from[i], top);
    if (left < 0) return from[i].id;
  }
  return from[0].id;  // rounding at u near 1 leads here: returns the best id
}

/// Draws without filters: first finds the piece of the vocabulary, then the id in that piece.
int32_t draw_from_all(const Loops& f, const Allowed& allowed, float top, double u,
                      const Scratch& s) {
  constexpr int64_t kPiece = 1024;
  double left = u * mass_of(f, allowed, top, s);
  int32_t last = -1;
  for (int r = 0; r < allowed.count; ++r) {
    for (int64_t i = allowed.range[r].begin; i < allowed.range[r].end; i += kPiece) {
      const int64_t end = std::min<int64_t>(i + kPiece, allowed.range[r].end);
      const double mass = f.exp_sum(s.logits + i, end - i, top);
      if (left >= mass) {
        left -= mass;
        continue;
      }
      for (int64_t j = i; j < end; ++j) {
        const double w = std::exp(double{s.logits[j]} - top);
        if (w > 0) last = static_cast<int32_t>(j);
        left -= w;
        if (left < 0 && last >= 0) return last;
      }
    }
  }
  if (last >= 0) return last;
  // Rounding at u near 1 leads here. Returns the best id.
  for (int r = 0; r < allowed.count; ++r)
    for (int32_t j = allowed.range[r].begin; j < allowed.range[r].end; ++j)
      if (s.logits[j] == top) return j;
  return -1;
}

bool repeats(const SampleRow& row, int32_t id) {
  const auto window = static_cast<size_t>(row.params.ras_window);
  std::span<const int32_t> history = row.history;
  if (history.size() > window) history = history.last(window);
  return std::count(history.begin(), history.end(), id) >= row.params.ras_repeats;
}

/// Draws among all ids except `id`. Returns `id` if no other id is allowed.
int32_t draw_other(const Loops& f, const Allowed& allowed, const SampleRow& row, int32_t id,
                   Scratch& s) {
  s.logits[id] = -INFINITY;
  float top = -INFINITY;
  for (int r = 0; r < allowed.count; ++r) {
    float* part = s.logits + allowed.range[r].begin;
    float largest;
    f.copy(part, allowed.range[r].end - allowed.range[r].begin, part, &largest);
    top = std::max(top, largest);
  }
  if (top == -INFINITY) return id;
  const double u = philox_uniform(row.seed, row.step, row.codebook, 1);
  return draw_from_all(f, allowed, top, u, s);
}

/// Sets the logits of ids outside the mask to -inf, and returns the largest remaining logit.
float apply_mask(std::span<const uint64_t> mask, const Allowed& allowed, Scratch& s) {
  float top = -INFINITY;
  for (int r = 0; r < allowed.count; ++r) {
    for (int32_t id = allowed.range[r].begin; id < allowed.range[r].end; ++id) {
      float& logit = s.logits[id];
      if (!in_mask(mask, id)) logit = -INFINITY;
      top = std::max(top, logit);
    }
  }
  return top;
}

/// A row ready for its draw. s.logits has the penalised logits, divided by the temperature.
struct Ready {
  SampleStatus status = SampleStatus::kOk;
  Allowed allowed;
  float top = -INFINITY;
  bool greedy = false;
};

Ready prepare(const Loops& f, const float* logits, int64_t vocabulary, const SampleRow& row,
              Scratch& s) {
  Ready out{.allowed = allowed_ranges(row.rule, vocabulary)};
  const Allowed& allowed = out.allowed;
  float top = -INFINITY;
  for (int r = 0; r < allowed.count; ++r) {
    const int64_t begin = allowed.range[r].begin;
    float largest;
    if (!f.copy(logits + begin, allowed.range[r].end - begin, s.logits + begin, &largest)) {
      out.status = SampleStatus::kNotFinite;
      return out;
    }
    top = std::max(top, largest);
  }
  if (!row.rule.mask.empty()) top = apply_mask(row.rule.mask, allowed, s);
  if (top == -INFINITY) {
    out.status = SampleStatus::kNothingAllowed;
    return out;
  }

  const SampleParams& p = row.params;
  const bool penalty = p.repetition_penalty != 1 && !row.history.empty() && !penalised_last(p);
  if (penalty) penalise(row, vocabulary, s);
  out.greedy = !(p.temperature > kColdest);
  const float divisor = out.greedy || p.filter_first ? 1 : p.temperature;
  if (divisor != 1)
    for (int r = 0; r < allowed.count; ++r)
      f.divide(s.logits + allowed.range[r].begin, allowed.range[r].end - allowed.range[r].begin,
               divisor);
  if (penalty) {
    top = -INFINITY;
    for (int r = 0; r < allowed.count; ++r) {
      float* part = s.logits + allowed.range[r].begin;
      float largest;
      f.copy(part, allowed.range[r].end - allowed.range[r].begin, part, &largest);
      top = std::max(top, largest);
    }
  } else if (divisor != 1) {
    top /= divisor;
  }
  out.top = top;
  if (!(top < INFINITY)) out.status = SampleStatus::kNotFinite;
  return out;
}

/// Returns whether the filters of these parameters keep all ids.
bool unfiltered(const SampleParams& p, const Allowed& allowed) {
  return (p.top_k <= 0 || p.top_k >= allowed.ids) && p.top_p >= 1 &&
         (p.min_p <= 0 || p.ras_window > 0) && !penalised_last(p);
}

/// Applies SampleParams::filter_first, and returns the number of remaining ids. They are in
/// s.picked, best first, with logits divided by the temperature.
int64_t first_survivors(const Loops& f, const Allowed& allowed, const SampleParams& p, float top,
                        float temperature, double top_p, Scratch& s) {
  const int64_t k = p.top_k;
  const bool cut = k > 0 && k < allowed.ids;
  int64_t count = cut ? collect_top(f, allowed, k, s) : collect_all(f, allowed, -INFINITY, s);
  std::sort(s.picked, s.picked + count, better);
  if (cut) count = std::min(count, k);
  if (top_p < 1) {
    double left = top_p * mass_of(f, allowed, top, s);
    int64_t keep = 0;
    while (keep < count && (left -= weight_of(s.picked[keep], top)) >= 0) ++keep;
    count = std::max<int64_t>(keep, 1);
  }
  for (int64_t i = 0; i < count; ++i) s.picked[i].logit /= temperature;
  return count;
}

/// Draws with SampleParams::filter_first; `stream` selects the random number.
int32_t draw_filtered_first(const Loops& f, const Allowed& allowed, const SampleRow& row, float top,
                            float temperature, double top_p, uint32_t stream, Scratch& s) {
  const int64_t count = first_survivors(f, allowed, row.params, top, temperature, top_p, s);
  const double u = philox_uniform(row.seed, row.step, row.codebook, stream);
  return draw(s.picked, count, top / temperature, u);
}

/// Returns whether the wanted id is among the best `wanted_among` ids. The logits must be ready.
bool is_among_best(const SampleRule& rule, const Allowed& allowed, int64_t vocabulary,
                   const Scratch& s) {
  const int32_t id = rule.wanted;
  if (id < 0 || id >= vocabulary || !is_allowed(rule, id)) return false;
  const float own = s.logits[id];
  if (own == -INFINITY) return false;
  int64_t larger = 0;
  for (int r = 0; r < allowed.count; ++r) {
    const float *begin = s.logits + allowed.range[r].begin, *end = s.logits + allowed.range[r].end;
    larger += std::count_if(begin, end, [own](float l) { return l > own; });
  }
  return larger < rule.wanted_among;
}

SampleStatus sample_row(const Loops& f, const float* logits, int64_t vocabulary,
                        const SampleRow& row, Scratch& s, int32_t* id) {
  *id = -1;
  if (row.rule.forced >= 0) {
    if (row.rule.forced >= vocabulary) return SampleStatus::kNothingAllowed;
    *id = row.rule.forced;
    return SampleStatus::kOk;
  }
  const Ready ready = prepare(f, logits, vocabulary, row, s);
  if (ready.status != SampleStatus::kOk) return ready.status;
  const Allowed& allowed = ready.allowed;
  const SampleParams& p = row.params;
  if (is_among_best(row.rule, allowed, vocabulary, s)) {
    *id = row.rule.wanted;
    return SampleStatus::kOk;
  }
  if (ready.greedy) {
    collect_all(f, allowed, ready.top, s);
    *id = s.picked[0].id;
    return SampleStatus::kOk;
  }
  if (p.filter_first) {
    const float top = ready.top;
    *id = draw_filtered_first(f, allowed, row, top, p.temperature, p.top_p, 0, s);
    if (p.ras_window > 0 && repeats(row, *id))
      *id = draw_filtered_first(f, allowed, row, top, p.ras_temperature, p.ras_top_p, 1, s);
    return SampleStatus::kOk;
  }
  const double u = philox_uniform(row.seed, row.step, row.codebook);
  if (unfiltered(p, allowed)) {
    *id = draw_from_all(f, allowed, ready.top, u, s);
  } else {
    const int64_t count = survivors(f, p, allowed, ready.top, s);
    penalise_picked(row, vocabulary, count, s);
    *id = draw(s.picked, count, ready.top, u);
  }
  if (*id >= 0 && p.ras_window > 0 && repeats(row, *id)) {
    *id = draw_other(f, allowed, row, *id, s);
  }
  return *id < 0 ? SampleStatus::kNothingAllowed : SampleStatus::kOk;
}

}  // namespace

const char* sample_status_text(SampleStatus status) {
  switch (status) {
    case SampleStatus::kOk:
      return "ok";
    case SampleStatus::kNotFinite:
      return "the logits are not finite";
    case SampleStatus::kNothingAllowed:
      return "no id is allowed, or all allowed ids have the probability 0";
  }
  return "?";
}

void sample(StepContext& ctx, const View& logits, std::span<const SampleRow> rows,
            std::span<int32_t> ids, std::span<SampleStatus> status) {
  const int64_t count = static_cast<int64_t>(rows.size());
  SYRINX_CHECK(logits.shape.dims() == 2 && logits.shape[0] == count && ids.size() == rows.size() &&
                   status.size() == rows.size(),
               "[sample] logits ", logits.shape.str(), " do not match ", rows.size(), " rows, ",
               ids.size(), " ids, ", status.size(), " statuses");
  for (const SampleRow& row : rows)
    SYRINX_CHECK(row.rule.ranges >= 0 && row.rule.ranges <= SampleRule::kMostRanges, "[sample] ",
                 row.rule.ranges, " ranges of ids, but at most ", SampleRule::kMostRanges);
  if (logits.device == Device::kCuda) return cuda::sample(ctx, logits, rows, ids, status);
  const int64_t vocabulary = logits.shape[1];
  const int64_t words = vocabulary / 64 + 1;
  // Each part of the work has its own scratch memory. There are at most as many parts as threads.
  const int64_t parts = std::min<int64_t>(ctx.pool.size(), count);
  if (parts == 0) return;
  const Arena::Mark mark(ctx.arena);
  float* copies = ctx.arena.take({parts, vocabulary}, DType::kF32).f32();
  auto* picked = static_cast<Candidate*>(
      ctx.arena.take({parts, vocabulary, sizeof(Candidate)}, DType::kU8).data);
  auto* seen = static_cast<uint64_t*>(ctx.arena.take({parts, words}, DType::kI64).data);
  std::fill_n(seen, parts * words, uint64_t{0});
  const Loops f = loops();
  const float* from = logits.f32();
  ctx.pool.parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      Scratch s{copies + part * vocabulary, picked + part * vocabulary, seen + part * words};
      for (int64_t i = count * part / parts; i < count * (part + 1) / parts; ++i)
        status[i] = sample_row(f, from + i * vocabulary, vocabulary, rows[i], s, &ids[i]);
    }
  });
}

std::vector<double> sample_chances(std::span<const float> logits, const SampleRow& row) {
  const auto vocabulary = static_cast<int64_t>(logits.size());
  std::vector<double> out(logits.size(), 0.0);
  if (row.rule.forced >= 0) {
    if (row.rule.forced < vocabulary) out[static_cast<size_t>(row.rule.forced)] = 1;
    return out;
  }
  std::vector<float> copy(logits.size());
  std::vector<Candidate> picked(logits.size());
  std::vector<uint64_t> seen(logits.size() / 64 + 1, 0);
  Scratch s{copy.data(), picked.data(), seen.data()};
  const Loops f = loops();
  const SampleParams& p = row.params;
  const Ready ready = prepare(f, logits.data(), vocabulary, row, s);
  if (ready.status != SampleStatus::kOk) return out;
  if (is_among_best(row.rule, ready.allowed, vocabulary, s)) {
    out[static_cast<size_t>(row.rule.wanted)] = 1;
    return out;
  }
  if (p.filter_first && !ready.greedy) {
    const auto chances = [&](float temperature, double top_p) {
      std::vector<double> found(out.size(), 0.0);
      const int64_t kept = first_survivors(f, ready.allowed, p, ready.top, temperature, top_p, s);
      const std::span<const Candidate> left(picked.data(), static_cast<size_t>(kept));
      const float top = ready.top / temperature;
      double total = 0;
      for (const Candidate& c : left) total += weight_of(c, top);
      for (const Candidate& c : left) found[static_cast<size_t>(c.id)] = weight_of(c, top) / total;
      return found;
    };
    out = chances(p.temperature, p.top_p);
    if (p.ras_window <= 0) return out;
    const std::vector<double> first = out, again = chances(p.ras_temperature, p.ras_top_p);
    for (size_t id = 0; id < out.size(); ++id) {
      if (first[id] == 0 || !repeats(row, static_cast<int32_t>(id))) continue;
      out[id] -= first[id];
      for (size_t j = 0; j < out.size(); ++j) out[j] += first[id] * again[j];
    }
    return out;
  }
  int64_t count;
  if (ready.greedy) {
    count = std::min<int64_t>(1, collect_all(f, ready.allowed, ready.top, s));
  } else if (unfiltered(p, ready.allowed)) {
    count = collect_all(f, ready.allowed, -INFINITY, s);
  } else {
    count = survivors(f, p, ready.allowed, ready.top, s);
    penalise_picked(row, vocabulary, count, s);
  }
  double total = 0, all = 0;
  const std::span<const Candidate> from(picked.data(), static_cast<size_t>(count));
  for (const Candidate& c : from) total += weight_of(c, ready.top);
  const auto each_allowed = [&](auto&& visit) {
    for (int r = 0; r < ready.allowed.count; ++r)
      for (int32_t id = ready.allowed.range[r].begin; id < ready.allowed.range[r].end; ++id)
        visit(id, weight_of({copy[static_cast<size_t>(id)], id}, ready.top));
  };
  each_allowed([&](int32_t, double weight) { all += weight; });
  for (const Candidate& c : from) {
    const double chance = weight_of(c, ready.top) / total, rest = all - weight_of(c, ready.top);
    if (ready.greedy || p.ras_window <= 0 || !repeats(row, c.id) || rest <= 0) {
      out[static_cast<size_t>(c.id)] += chance;
      continue;
    }
    // The probability that a repeated id is drawn again, among all other ids.
    each_allowed([&](int32_t id, double weight) {
      if (id != c.id) out[static_cast<size_t>(id)] += chance * weight / rest;
    });
  }
  return out;
}

void sample_codes(StepContext& ctx, const View& logits, std::span<const SampleRow> rows,
                  std::span<const GuidedRow> places, int column, const View& codes,
                  const View& status) {
  const int64_t per_step = codes.shape[1], count = static_cast<int64_t>(rows.size());
  SYRINX_CHECK(places.size() == rows.size() && status.shape[0] == count && column < per_step &&
                   status.shape[1] == per_step && logits.device == codes.device,
               "[sample_codes] ", count, " rows do not match ", places.size(), " places, codes ",
               codes.shape.str(), ", statuses ", status.shape.str(), " or the device");
  for (const GuidedRow& place : places)
    SYRINX_CHECK(place.row + (place.guided ? 1 : 0) < codes.shape[0], "[sample_codes] row ",
                 place.row, " is not in codes ", codes.shape.str());
  if (logits.device == Device::kCuda)
    return cuda::sample_codes(ctx, logits, rows, places, column, codes, status);
  const Arena::Mark mark(ctx.host);
  std::span<int32_t> ids = take_array<int32_t>(ctx, count);
  std::span<SampleStatus> found = take_array<SampleStatus>(ctx, count);
  sample(ctx, logits, rows, ids, found);
  for (int64_t i = 0; i < count; ++i) {
    status.i32()[i * per_step + column] = static_cast<int32_t>(found[i]);
    int32_t* to = codes.i32() + places[i].row * per_step + column;
    to[0] = std::max(ids[i], 0);
    if (places[i].guided) to[per_step] = to[0];
  }
}

}  // namespace syrinx
