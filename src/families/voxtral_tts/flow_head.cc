#include "families/voxtral_tts/flow_head.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
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

void FlowHead::run(StepContext& ctx, std::span<const FrameJob> jobs) const {
  if (jobs.empty()) return;
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const int64_t e = std::ssize(jobs), codes = config_.codec.acoustic(), width = config_.lm.hidden;
  // Row twins[i] of the network's input is frame i again, without the condition (for guidance).
  const std::span<int64_t> twins = take_array<int64_t>(ctx, e);
  int64_t rows = e;
  for (int64_t i = 0; i < e; ++i) twins[i] = jobs[i].scale == 1 ? -1 : rows++;
  const View conditions = take_rows(ctx, rows, width);
  const View x = take_rows(ctx, rows, codes), v = take_rows(ctx, rows, codes);
  {
    const Arena::Mark inner_mark(ctx.arena);
    const View given = take_rows(ctx, e, width);
    for (int64_t i = 0; i < e; ++i) {
      SYRINX_CHECK(std::ssize(jobs[i].noise) == codes && std::ssize(jobs[i].codes) == codes,
                   "[flow head] noise of ", jobs[i].noise.size(), " numbers");
      std::copy_n(jobs[i].row, width, given.f32() + i * width);
      for (const int64_t row : {i, twins[i]})
        if (row >= 0) std::ranges::copy(jobs[i].noise, x.f32() + row * codes);
    }
    linear(ctx, condition_, given, conditions.slice(0, e));
    std::fill_n(conditions.f32() + e * width, (rows - e) * width, 0.f);
  }
  for (int step = 0; step < config_.steps; ++step) {
    estimate(ctx, step, conditions, x, v);
    const auto at = static_cast<size_t>(step);
    const float dt = times_[at + 1] - times_[at];
    for (int64_t i = 0; i < e; ++i) {
      float* to = x.f32() + i * codes;
      const float *with = v.f32() + i * codes, scale = jobs[i].scale;
      const float* without = twins[i] < 0 ? nullptr : v.f32() + twins[i] * codes;
      for (int64_t k = 0; k < codes; ++k)
        to[k] += dt * (without ? scale * with[k] + (1 - scale) * without[k] : with[k]);
      if (without) std::copy_n(to, codes, x.f32() + twins[i] * codes);
    }
  }
  const auto top = static_cast<float>(config_.codec.levels - 1);
  for (int64_t i = 0; i < e; ++i) {
    for (int64_t k = 0; k < codes; ++k) {  // rounds ties to even, like torch
      const float number = std::clamp(x.f32()[i * codes + k], -1.f, 1.f);
      jobs[i].codes[static_cast<size_t>(k)] =
          std::isnan(number)
              ? -1
              : ModelConfig::kMarks + static_cast<int32_t>(std::nearbyint((number + 1) / 2 * top));
    }
  }
}

void FlowHead::estimate(StepContext& ctx, int step, const View& conditions, const View& x,
                        const View& v) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const int64_t rows = x.shape[0], width = config_.lm.hidden;
  const View numbers = take_rows(ctx, rows, width), all = take_rows(ctx, kRows * rows, width);
  linear(ctx, in_, x, numbers);
  const std::span<int32_t> firsts = take_array<int32_t>(ctx, rows);
  for (int64_t i = 0; i < rows; ++i) {
    float* to = all.f32() + kRows * i * width;
    to = std::copy_n(numbers.f32() + i * width, width, to);
    to = std::copy_n(time_rows_.f32() + step * width, width, to);
    std::copy_n(conditions.f32() + i * width, width, to);
    firsts[i] = static_cast<int32_t>(kRows * i);
  }
  run_whole(ctx, decoder_, all, {0, config_.flow.layers}, kRows);
  decoder_.norm_rows(ctx, all, firsts, numbers);
  linear(ctx, out_, numbers, v);
}

size_t FlowHead::bytes() const {
  return in_.bytes() + condition_.bytes() + out_.bytes() + decoder_.bytes();
}

}  // namespace syrinx::voxtral_tts
