#include "nn/moe.h"

#include <algorithm>
#include <cmath>

#include "kernels/activation.h"
#include "kernels/copy.h"
#include "nn/mixed_weights.h"

namespace syrinx {
namespace {

constexpr int64_t kRouteGrain = 16, kScatterGrain = 8;  // smallest number of rows per thread

/// Selects the `count` experts with the highest logits [E], in ascending order of index, and
/// computes their weights.
void choose_experts(std::span<const float> logits, bool normalised, std::span<int32_t> chosen,
                    std::span<float> weights) {
  const auto better = [&](int32_t a, int32_t b) {
    return logits[a] > logits[b] || (logits[a] == logits[b] && a < b);
  };
  size_t held = 0;
  for (int32_t e = 0; e < static_cast<int32_t>(logits.size()); ++e) {
    if (held == chosen.size() && !better(e, chosen[held - 1])) continue;
    size_t at = held < chosen.size() ? held++ : held - 1;
    for (; at > 0 && better(e, chosen[at - 1]); --at) chosen[at] = chosen[at - 1];
    chosen[at] = e;
  }
  const float top = logits[chosen[0]];
  std::sort(chosen.begin(), chosen.end());
  float sum = 0;
  for (size_t i = 0; i < chosen.size(); ++i) {
    weights[i] = std::exp(logits[chosen[i]] - top);
    sum += weights[i];
  }
  if (!normalised) {
    sum = 0;
    for (const float logit : logits) sum += std::exp(logit - top);
  }
  for (float& weight : weights) weight /= sum;
}

/// Computes out[rows[i]] += weights[i] * x[i]. All rows must be different.
void scatter_add(StepContext& ctx, const View& x, std::span<const int32_t> rows,
                 std::span<const float> weights, const View& out) {
  const int64_t width = x.shape[1];
  const float* from = x.f32();
  float* to = out.f32();
  ctx.pool.parallel_for(std::ssize(rows), kScatterGrain, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float* source = from + i * width;
      float* sum = to + rows[i] * width;
      for (int64_t c = 0; c < width; ++c) sum[c] += weights[i] * source[c];
    }
  });
}

}  // namespace

Moe::Expert::Expert(const Weights& weights, int64_t hidden, int64_t ffn, WeightType type)
    : up(PackedLinear::pack_gated(take_linear(weights, "gate_proj", ffn, hidden, false),
                                  take_linear(weights, "up_proj", ffn, hidden, false),
                                  all_but_down(type))),
      down(load_linear(weights, "down_proj", hidden, ffn, false, type)) {}

Moe::Moe(const MoeConfig& config, int64_t hidden, const Weights& weights, WeightType type)
    : config_(config) {
  SYRINX_CHECK(
      config.experts > 0 && config.ffn > 0 && config.top_k > 0 && config.top_k <= config.experts,
      "[moe] invalid sizes: ", config.top_k, " of ", config.experts, " experts of width ",
      config.ffn);
  router_ = load_linear(weights, "gate", config.experts, hidden, false, WeightType::kF32);
  experts_.reserve(config.experts);
  for (int e = 0; e < config.experts; ++e)
    experts_.emplace_back(weights.scope("experts", e), hidden, config.ffn, type);
  if (config.shared_ffn == 0) return;
  shared_ = Expert(weights.scope("shared_expert"), hidden, config.shared_ffn, type);
  shared_gate_ = load_linear(weights, "shared_expert_gate", 1, hidden, false, WeightType::kF32);
}

size_t Moe::bytes() const {
  size_t sum = router_.bytes() + shared_gate_.bytes() + shared_.up.bytes() + shared_.down.bytes();
  for (const Expert& expert : experts_) sum += expert.up.bytes() + expert.down.bytes();
  return sum;
}

void Moe::move_to(Device device) {
  if (empty()) return;
  const bool fits =
      config_.experts <= ExpertTable::kMost && config_.top_k <= ExpertTable::kMostChosen;
  if (device == Device::kCuda && !fits) {
    throw LoadError(concat("a layer uses ", config_.top_k, " of ", config_.experts,
                           " experts for a row; a GPU can use ", ExpertTable::kMostChosen, " of ",
                           ExpertTable::kMost, ": use --device cpu"));
  }
  syrinx::move_to(device, router_, shared_gate_, shared_.up, shared_.down);
  std::vector<const PackedLinear*> up, down;
  for (Expert& expert : experts_) {
    syrinx::move_to(device, expert.up, expert.down);
    up.push_back(&expert.up);
    down.push_back(&expert.down);
  }
  moved_ = device == Device::kCuda ? ExpertTable(up, down) : ExpertTable();
}

Moe::Routes Moe::route(StepContext& ctx, const View& x) const {
  const int64_t n = x.shape[0], k = config_.top_k, experts = config_.experts;
  Routes routes{take_array<int32_t>(ctx, experts + 1), take_array<int32_t>(ctx, n * k),
                take_array<float>(ctx, n * k)};
  const Arena::Mark mark(ctx.arena);
  const View logits = ctx.arena.take({n, experts}, DType::kF32);
  linear(ctx, router_, x, logits);
  const std::span<int32_t> chosen = take_array<int32_t>(ctx, n * k);
  const std::span<float> weights = take_array<float>(ctx, n * k);
  ctx.pool.parallel_for(n, kRouteGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      choose_experts({logits.f32() + i * experts, static_cast<size_t>(experts)}, config_.normalised,
                     chosen.subspan(i * k, k), weights.subspan(i * k, k));
    }
  });
  // Sorts rows by expert: counts the rows of each expert, sums the counts, and places the rows.
  for (const int32_t e : chosen) ++routes.begin[e + 1];
  for (int64_t e = 0; e < experts; ++e) routes.begin[e + 1] += routes.begin[e];
  const std::span<int32_t> next = take_array<int32_t>(ctx, experts);
  std::copy_n(routes.begin.begin(), experts, next.begin());
  for (int64_t i = 0; i < n * k; ++i) {
    const int32_t at = next[chosen[i]]++;
    routes.rows[at] = static_cast<int32_t>(i / k);
    routes.weights[at] = weights[i];
  }
  return routes;
}

void Moe::reserve(StepContext& ctx, int64_t rows) const {
  const Arena::Mark mark(ctx.arena);
  const int64_t widest = std::max<int64_t>(router_.in(), config_.ffn);
  // With q8, products need 16 bits per input, rounded up, and a scale.
  ctx.arena.take({rows, widest / 2 + PackedMatrix::kGroup}, DType::kF32);
}

void Moe::add_shared(StepContext& ctx, const View& x, const View& out) const {
  const Arena::Mark mark(ctx.arena);
  const int64_t n = x.shape[0];
  const View gate = ctx.arena.take({n, 1}, DType::kF32);
  const View inner = ctx.arena.take({n, config_.shared_ffn}, DType::kF32);
  const View mixed = ctx.arena.take({n, x.shape[1]}, DType::kF32);
  linear(ctx, shared_gate_, x, gate);
  activate(ctx, Activation::kSigmoid, gate, gate);
  linear(ctx, shared_.up, x, inner);
  linear(ctx, shared_.down, inner, mixed);
  add_rows_scaled(ctx, out, mixed, gate.reshape({n}));
}

void Moe::add(StepContext& ctx, const View& x, const View& out) const {
  const int64_t n = x.shape[0], hidden = router_.in();
  expect_shape("moe", x, {n, hidden});
  expect_shape("moe", out, {n, hidden});
  if (n == 0) return;
  add_chosen(ctx, x, out);
  if (config_.shared_ffn > 0) add_shared(ctx, x, out);
}

void Moe::add_chosen(StepContext& ctx, const View& x, const View& out) const {
  const Arena::Mark mark(ctx.arena);
  const int64_t n = x.shape[0], hidden = router_.in();
  if (ctx.device == Device::kCuda) {
    const View logits = ctx.arena.take({n, config_.experts}, DType::kF32);
    linear(ctx, router_, x, logits);
    return add_experts(ctx, moved_, x, logits, config_.top_k, config_.normalised, out);
  }
  const Routes routes = route(ctx, x);
  const View gathered = ctx.arena.take({n, hidden}, DType::kF32);
  const View inner = ctx.arena.take({n, config_.ffn}, DType::kF32);
  const View mixed = ctx.arena.take({n, hidden}, DType::kF32);
  reserve(ctx, n);
  for (int e = 0; e < config_.experts; ++e) {
    const int64_t begin = routes.begin[e], count = routes.begin[e + 1] - begin;
    if (count == 0) continue;
    const std::span<const int32_t> rows = routes.rows.subspan(begin, count);
    const View in = gathered.slice(0, count), wide = inner.slice(0, count),
               result = mixed.slice(0, count);
    gather_rows(ctx, x, rows, in);
    linear(ctx, experts_[e].up, in, wide);
    linear(ctx, experts_[e].down, wide, result);
    scatter_add(ctx, result, rows, routes.weights.subspan(begin, count), out);
  }
}

}  // namespace syrinx
