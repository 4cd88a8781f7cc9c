#include "families/voxtral_realtime/delay_norms.h"

#include <cmath>
#include <numbers>
#include <numeric>

#include "tensor/device.h"

namespace syrinx::voxtral_realtime {
namespace {

constexpr double kTimeTheta = 10000;  // base of the sinusoids of a delay

double gelu(double x) { return x / 2 * (1 + std::erf(x / std::numbers::sqrt2)); }

}  // namespace

DelayNorms::DelayNorms(const DecoderConfig& lm, const Weights& model) : width_(lm.hidden) {
  for (int i = 0; i < lm.layers; ++i) {
    const Weights block = model.scope("layers", i), ada = block.scope("ada_rms_norm");
    conditions_.push_back({block.f32(std::string(lm.names.mlp_norm) + ".weight", {width_}),
                           ada.f32("linear1.weight", {kInner, width_}),
                           ada.f32("linear2.weight", {width_, kInner})});
  }
}

std::shared_ptr<const Tensor> DelayNorms::of(int delay) const {
  if (auto known = known_.find(delay)) return known;
  const int64_t half = width_ / 2;
  std::vector<float> time(static_cast<size_t>(width_));
  for (int64_t i = 0; i < half; ++i) {
    const auto rate = static_cast<float>(
        std::exp(-std::log(kTimeTheta) * static_cast<double>(i) / static_cast<double>(half)));
    time[i] = std::cos(static_cast<float>(delay) * rate);
    time[half + i] = std::sin(static_cast<float>(delay) * rate);
  }
  auto out = std::make_shared<Tensor>(Shape{std::ssize(conditions_), width_}, DType::kF32);
  float* to = out->f32();
  for (const Condition& each : conditions_) {
    double inner[kInner];
    for (int64_t r = 0; r < kInner; ++r) {
      const float* row = each.down.f32() + r * width_;
      inner[r] = gelu(std::inner_product(time.begin(), time.end(), row, 0.0));
    }
    for (int64_t i = 0; i < width_; ++i) {
      const double scale =
          std::inner_product(inner, inner + kInner, each.up.f32() + i * kInner, 1.0);
      *to++ = static_cast<float>(each.norm.f32()[i] * scale);
    }
  }
  if (device_ != Device::kCpu) *out = copy_to(*out, device_);
  known_.keep(delay, out, out->bytes());
  return out;
}

}  // namespace syrinx::voxtral_realtime
