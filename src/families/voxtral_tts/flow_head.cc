#include "families/voxtral_tts/flow_head.h"

#include <cmath>

#include "kernels/activation.h"
#include "kernels/copy.h"
#include "kernels/solver.h"
#include "nn/stream_pass.h"

namespace syrinx::voxtral_tts {
namespace {

constexpr int64_t kRows = 3;  // rows of an estimate: the numbers, the time, the model's row

/// Returns `steps` + 1 times from 0 to 1, rounded like in torch (linspace).
std::vector<float> even_times(int steps) {
  std::vector<float> times;
  const float each = 1.f / static_cast<float>(steps);
  for (int i = 0; i <= steps; ++i) {
    times.push_back(i < (steps + 1) / 2 ? each * static_cast<float>(i)
                                        : 1 - each * static_cast<float>(steps - i));
  }
  return times;
}

}  // namespace

FlowHead::FlowHead(const ModelConfig& config, const Weights& weights, WeightType type)
    : config_(config), decoder_(config.flow, weights, type), times_(even_times(config.steps)) {
  const int64_t width = config.lm.hidden, codes = config.codec.acoustic();
  const WeightType small = at_least_8_bits(type);
  in_ = load_linear(weights, "input_projection", width, codes, false, small);
  condition_ = load_linear(weights, "llm_projection", width, width, false, small);
  out_ = load_linear(weights, "acoustic_codebook_output", codes, width, false, small);
  embed_times(weights);
}

/// Computes the row of each time. It is the same for every request.
void FlowHead::embed_times(const Weights& weights) {
  const int64_t steps = config_.steps, width = config_.lm.hidden, half = width / 2;
  Tensor waves({steps, width}, DType::kF32);
  const auto slope = static_cast<float>(-std::log(10000.0));
  for (int64_t s = 0; s < steps; ++s) {
    for (int64_t i = 0; i < half; ++i) {
      const float rate = std::exp(slope * static_cast<float>(i) / static_cast<float>(half));
      const float angle = times_[static_cast<size_t>(s)] * rate;
      waves.f32()[s * width + i] = std::cos(angle);
      waves.f32()[s * width + half + i] = std::sin(angle);
    }
  }
  ThreadPool pool(1);
  Arena arena;
  StepContext ctx(pool, arena);
  time_rows_ = Tensor({steps, width}, DType::kF32);
  linear(ctx, load_linear(weights, "time_projection", width, width, false, WeightType::kF32), waves,
         time_rows_);
}

void FlowHead::move_to(Device device) {
  syrinx::move_to(device, in_, condition_, out_, decoder_, time_rows_);
}

void FlowHead::run(StepContext& ctx, const View& rows, const View& guidance, const View& x) const {
  const int64_t e = x.shape[0], codes = config_.codec.acoustic(), width = config_.lm.hidden;
  const bool guided = !guidance.empty();
  expect_shape("flow head", x, {e, codes});
  expect_shape("flow head", rows, {e, width});
  if (guided) expect_shape("flow head", guidance, {2, e});
  const Arena::Mark mark(ctx.arena);
  // With guidance, rows [e, 2 e) are the frames again, without the condition.
  const int64_t n = guided ? 2 * e : e;
  const View conditions = take_rows(ctx, n, width), at = take_rows(ctx, n, codes),
             v = take_rows(ctx, n, codes), merged = take_rows(ctx, e, codes);
  const View now = at.slice(0, e), now_without = at.slice(n - e, n);
  linear(ctx, condition_, rows, conditions.slice(0, e));
  if (guided) fill_zeros(ctx, conditions.slice(e, n));
  copy(ctx, x, now);
  for (int step = 0; step < config_.steps; ++step) {
    if (guided) copy(ctx, now, now_without);
    estimate(ctx, step, conditions, at, v);
    View direction = v;
    if (guided) {
      direction = merged;
      fill_zeros(ctx, merged);
      for (const int64_t side : {0, 1}) {
        const View factors = guidance.slice(side, side + 1).reshape({e});
        add_rows_scaled(ctx, merged, v.slice(side * e, (side + 1) * e), factors);
      }
    }
    const auto from = static_cast<size_t>(step);
    scale_inplace(ctx, direction, times_[from + 1] - times_[from]);
    add_inplace(ctx, now, direction);
  }
  copy(ctx, now, x);
}

void FlowHead::estimate(StepContext& ctx, int step, const View& conditions, const View& x,
                        const View& v) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const int64_t rows = x.shape[0], width = config_.lm.hidden;
  const View numbers = take_rows(ctx, rows, width), all = take_rows(ctx, kRows * rows, width);
  linear(ctx, in_, x, numbers);
  const std::span<int32_t> firsts = take_array<int32_t>(ctx, rows);
  const std::span<CopySpan> parts = take_array<CopySpan>(ctx, kRows * rows);
  for (int64_t i = 0; i < rows; ++i) {
    const float* from[kRows] = {numbers.f32() + i * width, time_rows_.f32() + step * width,
                                conditions.f32() + i * width};
    for (int64_t p = 0; p < kRows; ++p)
      parts[kRows * i + p] = {from[p], all.f32() + (kRows * i + p) * width, width};
    firsts[i] = static_cast<int32_t>(kRows * i);
  }
  copy_spans(ctx, parts);
  run_whole(ctx, decoder_, all, {0, config_.flow.layers}, kRows);
  decoder_.norm_rows(ctx, all, firsts, numbers);
  linear(ctx, out_, numbers, v);
}

}  // namespace syrinx::voxtral_tts
