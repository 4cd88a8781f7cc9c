#include "families/zonos/conditioner.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "families/zonos/phonemes.h"

namespace syrinx::zonos {
namespace {

constexpr float kNormEps = 1e-5f;  // torch's default; the backbone's value may differ

}  // namespace

PrefixConditioner::PrefixConditioner(const ModelConfig& config, const Weights& weights,
                                     WeightType type)
    : width_(config.lm.hidden) {
  const WeightType kept = at_least_8_bits(type);
  if (config.projected) project_ = load_linear(weights, "project", width_, width_, true, kept);
  norm_ = LayerNorm(weights.scope("norm"), width_, kNormEps);
  for (size_t i = 0; i < config.conditioners.size(); ++i) {
    const ConditionerConfig& part = config.conditioners[i];
    const Weights w = weights.scope("conditioners", static_cast<int64_t>(i));
    if (part.kind == ConditionerConfig::kPhonemes) {
      symbols_ = w.scope("phoneme_embedder").f32("weight", {symbol_count(), width_});
    } else {
      parts_.push_back(load_part(part, w));
    }
  }
  map(symbols_);
}

PrefixConditioner::Part PrefixConditioner::load_part(const ConditionerConfig& config,
                                                     const Weights& weights) const {
  Part part{config};
  switch (config.kind) {
    case ConditionerConfig::kPhonemes:
      break;
    case ConditionerConfig::kInteger: {
      const auto count = static_cast<int64_t>(config.max - config.min) + 1;
      part.table = weights.scope("int_embedder").f32("weight", {count, width_});
      break;
    }
    case ConditionerConfig::kFourier:
      part.table = weights.f32("weight", {width_ / 2, config.inputs});
      break;
    case ConditionerConfig::kVector:
      if (!config.projected && config.inputs != width_) {
        weights.fault("project.weight",
                      "is needed: the condition has " + std::to_string(config.inputs) +
                          " numbers, but the model is " + std::to_string(width_) + " wide");
      }
      break;
  }
  if (config.projected) {
    part.weight = weights.scope("project").f32("weight", {width_, config.inputs});
    part.bias = weights.scope("project").f32("bias", {width_});
  }
  if (config.learned) part.unconditional = weights.f32("uncond_vector", {width_});
  return part;
}

size_t PrefixConditioner::bytes() const {
  size_t sum = project_.bytes();
  for (const Part& part : parts_) sum += part.table.bytes() + part.weight.bytes();
  return sum;
}

/// Writes the vector [H] of a condition, before the projection and norm that all rows share.
void PrefixConditioner::apply(const Part& part, const std::vector<double>& numbers,
                              float* out) const {
  const ConditionerConfig& c = part.config;
  const auto inputs = static_cast<int64_t>(numbers.size());
  SYRINX_CHECK(inputs == c.inputs, "zonos: got ", inputs, " numbers for ", c.name);
  switch (c.kind) {
    case ConditionerConfig::kFourier:
      for (int64_t o = 0; o < width_ / 2; ++o) {
        double angle = 0;
        for (int64_t i = 0; i < inputs; ++i) {
          angle += (numbers[i] - c.min) / (c.max - c.min) * part.table.f32()[o * inputs + i];
        }
        angle *= 2 * std::numbers::pi;
        out[o] = static_cast<float>(std::cos(angle));
        out[width_ / 2 + o] = static_cast<float>(std::sin(angle));
      }
      break;
    case ConditionerConfig::kInteger: {
      const auto row = static_cast<int64_t>(numbers[0] - c.min);
      std::copy_n(part.table.f32() + row * width_, width_, out);
      break;
    }
    default:
      for (int64_t o = 0; o < width_; ++o) {
        double sum = part.bias.empty() ? numbers[o] : part.bias.f32()[o];
        for (int64_t i = 0; i < inputs && !part.weight.empty(); ++i) {
          sum += numbers[i] * part.weight.f32()[o * inputs + i];
        }
        out[o] = static_cast<float>(sum);
      }
  }
}

Tensor PrefixConditioner::rows(const Conditions& conditions) const {
  Tensor out({std::ssize(parts_), width_}, DType::kF32);
  float* to = out.f32();
  for (const Part& part : parts_) {
    const auto found = conditions.find(part.config.name);
    if (found != conditions.end() && !found->second.empty()) {
      apply(part, found->second, to);
    } else {
      SYRINX_CHECK(part.config.learned, "zonos: no value for ", part.config.name);
      std::copy_n(part.unconditional.f32(), width_, to);
    }
    to += width_;
  }
  map(out);
  return out;
}

/// Applies the projection and norm that all rows share, in place.
void PrefixConditioner::map(const Tensor& rows) const {
  ThreadPool pool(1);
  Arena arena;
  StepContext ctx{pool, arena};
  if (!project_.empty()) {
    const View raw = ctx.arena.take(rows.shape(), DType::kF32);
    std::copy_n(rows.f32(), raw.count(), raw.f32());
    linear(ctx, project_, raw, rows.view());
  }
  norm_(ctx, rows.view(), rows.view());
}

}  // namespace syrinx::zonos
