#include "families/piper/duration_predictor.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "families/piper/spline.h"
#include "kernels/activation.h"

namespace syrinx::piper {

DurationPredictor::Dilated::Dilated(const VoiceParts& parts, const std::string& module,
                                    int64_t width) {
  const int64_t count = parts.count(module + ".convs_sep", "weight");
  for (int64_t i = 0; i < count; ++i) {
    const std::string number = concat(".", i);
    layers.push_back({SameConv(parts, module + ".convs_sep" + number, width, width),
                      ChannelNorm(parts, module + ".norms_1" + number, width),
                      parts.linear(module + ".convs_1x1" + number, width, width),
                      ChannelNorm(parts, module + ".norms_2" + number, width)});
  }
}

void DurationPredictor::Dilated::run(StepContext& ctx, const RowBatch& x) const {
  for (const Layer& layer : layers) {
    const Arena::Mark mark(ctx.arena);
    const View y = layer.depthwise.run(ctx, x).all;
    layer.norm.run(ctx, y);
    activate(ctx, Activation::kGelu, y, y);
    const View mixed = ctx.arena.take(y.shape, DType::kF32);
    linear(ctx, layer.mix, y, mixed);
    layer.mixed_norm.run(ctx, mixed);
    activate(ctx, Activation::kGelu, mixed, mixed);
    add_inplace(ctx, x.all, mixed);
  }
}

size_t DurationPredictor::Dilated::bytes() const {
  size_t sum = 0;
  for (const Layer& layer : layers) sum += layer.depthwise.bytes() + layer.mix.bytes();
  return sum;
}

DurationPredictor::DurationPredictor(const VoiceParts& parts, int64_t hidden, int64_t speaker)
    : speaker_(speaker), pre_(parts.linear("dp.pre", hidden)) {
  width_ = pre_.out();
  convs_ = Dilated(parts, "dp.convs", width_);
  proj_ = parts.linear("dp.proj", width_, width_);
  if (speaker > 0) {
    const LinearPart condition = parts.one_tap("dp.cond", speaker, width_);
    condition_weight_ = to_f32(condition.weight);
    condition_bias_ = to_f32(condition.bias);
  }
  // Flow 0 scales and shifts. Flows 1, 3, 5, ... are splines. Flow 1 was only used in training.
  int64_t splines = 0;
  while (parts.has("dp.flows." + std::to_string(2 * splines + 3) + ".pre.weight")) ++splines;
  for (int64_t i = splines; i >= 1; --i) {
    const std::string module = "dp.flows." + std::to_string(2 * i + 1);
    SplineFlow flow;
    flow.pre = parts.linear(module + ".pre", 1, width_);
    flow.convs = Dilated(parts, module + ".convs", width_);
    flow.proj = parts.linear(module + ".proj", width_);
    const int64_t numbers = flow.proj.out();
    if (numbers % 3 != 2 || (numbers + 1) / 3 > kMostBins) {
      parts.fail(module + ".proj", concat("expected 3 * bins - 1 outputs with at most ", kMostBins,
                                          " bins, got ", numbers));
    }
    flows_.push_back(std::move(flow));
  }
  if (flows_.empty()) parts.shape("dp.flows.3.pre.weight", 3);  // this throws LoadError
  mean_ = parts.f32("dp.flows.0.m", {2, 1}).f32()[0];
  // The factor is exp(-logs). Exporters fold the sign, or the whole expression, into the constant.
  const auto first = [&](const char* name) { return parts.f32(name, {2, 1}).f32()[0]; };
  if (parts.has("dp.flows.0.logs")) {
    inverse_scale_ = std::exp(-first("dp.flows.0.logs"));
  } else if (parts.has("dp.flows.0.exponent")) {
    inverse_scale_ = std::exp(first("dp.flows.0.exponent"));
  } else {
    inverse_scale_ = first("dp.flows.0.scale");
  }
}

std::vector<float> DurationPredictor::condition(std::span<const float> embedding) const {
  if (speaker_ == 0) return {};
  SYRINX_CHECK(std::ssize(embedding) == speaker_, "[piper] wrong embedding: ", embedding.size());
  std::vector<float> out(condition_bias_.f32(), condition_bias_.f32() + width_);
  for (int64_t o = 0; o < width_; ++o) {
    const float* row = condition_weight_.f32() + o * speaker_;
    for (int64_t i = 0; i < speaker_; ++i) out[o] += row[i] * embedding[i];
  }
  return out;
}

/// Inverts a spline flow: replaces `moved` [rows] by its preimage. `fixed` determines the splines.
void DurationPredictor::undo(StepContext& ctx, const SplineFlow& flow, const RowBatch& told,
                             const View& fixed, const View& moved) const {
  const Arena::Mark mark(ctx.arena);
  const RowBatch h = rows_like(ctx, told, width_);
  linear(ctx, flow.pre, fixed, h.all);
  add_inplace(ctx, h.all, told.all);
  flow.convs.run(ctx, h);
  const int64_t rows = told.rows(), numbers = flow.proj.out(), bins = (numbers + 1) / 3;
  const View shapes = ctx.arena.take({rows, numbers}, DType::kF32);
  linear(ctx, flow.proj, h.all, shapes);
  const float root = std::sqrt(static_cast<float>(width_));
  ctx.pool.parallel_for(rows, 16, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      float* shape = shapes.f32() + row * numbers;
      for (int64_t i = 0; i < 2 * bins; ++i) shape[i] /= root;
      const auto part = [shape](int64_t from, int64_t count) {
        return std::span<const float>(shape + from, static_cast<size_t>(count));
      };
      float& value = moved.f32()[row];
      value = inverse_spline(value, part(0, bins), part(bins, bins), part(2 * bins, bins - 1));
    }
  });
}

View DurationPredictor::run(StepContext& ctx, const RowBatch& hidden,
                            std::span<const std::span<const float>> conditions,
                            const View& noise) const {
  const int64_t rows = hidden.rows();
  const View first = ctx.arena.take({rows, 1}, DType::kF32);
  const View second = ctx.arena.take({rows, 1}, DType::kF32);
  const Arena::Mark mark(ctx.arena);
  const RowBatch x = rows_like(ctx, hidden, width_), told = rows_like(ctx, hidden, width_);
  linear(ctx, pre_, hidden.all, x.all);
  for (size_t i = 0; speaker_ > 0 && i < x.lanes(); ++i) {
    float* to = x.lane(i).f32();
    for (int64_t row = 0; row < x.rows(i); ++row) {
      for (const float added : conditions[i]) *to++ += added;
    }
  }
  convs_.run(ctx, x);
  linear(ctx, proj_, x.all, told.all);
  for (int64_t row = 0; row < rows; ++row) {
    first.f32()[row] = noise.f32()[2 * row];
    second.f32()[row] = noise.f32()[2 * row + 1];
  }
  // The two channels are swapped before each flow and after the last one.
  View fixed = first, moved = second;
  for (const SplineFlow& flow : flows_) {
    std::swap(fixed, moved);
    undo(ctx, flow, told, fixed, moved);
  }
  std::swap(fixed, moved);
  for (int64_t row = 0; row < rows; ++row) {
    fixed.f32()[row] = (fixed.f32()[row] - mean_) * inverse_scale_;
  }
  return fixed;
}

size_t DurationPredictor::bytes() const {
  size_t sum = pre_.bytes() + proj_.bytes() + convs_.bytes();
  for (const SplineFlow& flow : flows_) {
    sum += flow.pre.bytes() + flow.proj.bytes() + flow.convs.bytes();
  }
  return sum;
}

}  // namespace syrinx::piper
