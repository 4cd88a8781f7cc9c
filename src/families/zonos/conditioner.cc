#include "families/zonos/conditioner.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "families/zonos/phonemes.h"

namespace syrinx::zonos {
namespace {

constexpr float kNormEps = 1e-5f;  // torch's default, whatever the backbone has

}  // namespace

PrefixConditioner::PrefixConditioner(const ModelConfig& config, const Weights& weights,
                                     WeightType type)
    : config_(config.conditioners), width_(config.lm.hidden) {
  for (size_t i = 0; i < config_.size(); ++i) {
    const Weights w = weights.scope("conditioners", static_cast<int64_t>(i));
    Part part;
    part.config = config_[i];
    switch (part.config.kind) {
      case ConditionerConfig::kPhonemes:
        part.table = w.scope("phoneme_embedder").f32("weight", {symbol_count(), width_});
        phonemes_ = i;
        break;
      case ConditionerConfig::kInteger: {
        const auto count = static_cast<int64_t>(part.config.max - part.config.min) + 1;
        part.table = w.scope("int_embedder").f32("weight", {count, width_});
        break;
      }
      case ConditionerConfig::kFourier:
        part.table = w.f32("weight", {width_ / 2, part.config.inputs});
        break;
      case ConditionerConfig::kVector:
        if (!part.config.projected && part.config.inputs != width_) {
          w.fault("project.weight", "needed: it has " + std::to_string(part.config.inputs) +
                                        " numbers, the model is " + std::to_string(width_) +
                                        " wide");
        }
        break;
    }
    if (part.config.projected) {
      part.weight = w.scope("project").f32("weight", {width_, part.config.inputs});
      part.bias = w.scope("project").f32("bias", {width_});
    }
    if (part.config.learned) part.unconditional = w.f32("uncond_vector", {width_});
    parts_.push_back(std::move(part));
  }
  const WeightType kept = at_least_8_bits(type);
  if (config.projected) project_ = load_linear(weights, "project", width_, width_, true, kept);
  norm_ = LayerNorm(weights.scope("norm"), width_, kNormEps);
}

size_t PrefixConditioner::bytes() const {
  size_t sum = project_.bytes();
  for (const Part& part : parts_) sum += part.table.bytes() + part.weight.bytes();
  return sum;
}

std::vector<float> PrefixConditioner::apply(const Part& part,
                                            const std::vector<double>& numbers) const {
  std::vector<float> out(static_cast<size_t>(width_));
  const ConditionerConfig& c = part.config;
  const auto inputs = static_cast<int64_t>(numbers.size());
  SYRINX_CHECK(inputs == c.inputs, "zonos: ", inputs, " numbers for ", c.name);
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
      std::copy_n(part.table.f32() + row * width_, width_, out.begin());
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
  return out;
}

std::vector<PrefixConditioner::Row> PrefixConditioner::rows(const std::vector<int32_t>& phonemes,
                                                            const Conditions& conditions,
                                                            bool companion) const {
  std::vector<Row> out;
  for (const Part& part : parts_) {
    if (part.config.kind == ConditionerConfig::kPhonemes) {
      for (const int32_t id : phonemes) out.push_back({id, {}});
      continue;
    }
    const auto found = conditions.find(part.config.name);
    const bool given = found != conditions.end() && !found->second.empty();
    if (part.config.learned && (companion || !given)) {
      const float* vector = part.unconditional.f32();
      out.push_back({-1, {vector, vector + width_}});
    } else {
      SYRINX_CHECK(given, "zonos: nothing for ", part.config.name);
      out.push_back({-1, apply(part, found->second)});
    }
  }
  return out;
}

void PrefixConditioner::move_to(Device device) {
  syrinx::move_to(device, project_);
  norm_.move_to(device);
}

std::span<const float> PrefixConditioner::vector(const Row& row) const {
  if (row.phoneme < 0) return row.vector;
  return {parts_[phonemes_].table.f32() + row.phoneme * width_, static_cast<size_t>(width_)};
}

void PrefixConditioner::embed(StepContext& ctx, std::span<const std::span<const float>> rows,
                              const View& out) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const auto count = static_cast<int64_t>(rows.size());
  const View raw = ctx.host.take({count, width_}, DType::kF32);
  float* to = raw.f32();
  for (const std::span<const float> row : rows) to = std::copy_n(row.data(), width_, to);
  if (project_.empty()) {
    norm_(ctx, upload(ctx, raw), out);
  } else {
    linear(ctx, project_, upload(ctx, raw), out);
    norm_(ctx, out, out);
  }
}

}  // namespace syrinx::zonos
