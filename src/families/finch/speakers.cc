#include "families/finch/speakers.h"

#include <algorithm>
#include <cmath>

namespace syrinx::finch {
namespace {

constexpr float kStrongSpeed = 0.7f;  // factor of the speed for words with an accent

/// Adds the product of shares [S] and table [S, width] to `sum`.
void add_mix(std::span<const float> shares, const Tensor& table, std::span<float> sum) {
  for (size_t s = 0; s < shares.size(); ++s) {
    if (shares[s] == 0) continue;
    const float* row = table.f32() + s * sum.size();
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += shares[s] * row[i];
  }
}

}  // namespace

Speakers::Speakers(const FinchConfig& config, const Weights& weights) : config_(config) {
  const auto count = static_cast<int64_t>(config.speakers.size());
  if (count == 0) return;
  const Weights lm = weights.scope("lm"), decoder = weights.scope("decoder.speaker");
  lm_ = lm.f32("speaker.weight", {count, config.hidden});
  speed_ = lm.f32("speed", {config.hidden});
  low_ = decoder.f32("low.weight", {count, config.low_width});
  high_ = decoder.f32("high.weight", {count, config.high_width});
  pitch_ = decoder.f32("pitch", {count});
  gain_ = decoder.f32("gain", {count});
}

std::shared_ptr<const Manner> Speakers::manner(std::span<const float> shares, float speed,
                                               float pitch) const {
  const float raised = pitch * std::log(2.f) / 12;  // shift in ln Hz
  auto manner = std::make_shared<Manner>();
  manner->lm.assign(config_.hidden, 0.f);
  manner->low.assign(config_.low_width, 0.f);
  manner->high.assign(config_.high_width, 0.f);
  manner->pitch_mean = config_.pitch_mean + raised;
  manner->strong = manner->lm;
  if (config_.speakers.empty()) return manner;
  add_mix(shares, lm_, manner->lm);
  add_mix(shares, low_, manner->low);
  add_mix(shares, high_, manner->high);
  manner->pitch_mean = 0;
  add_mix(shares, pitch_, {&manner->pitch_mean, 1});
  manner->pitch_mean += raised;
  float log_gain = 0;
  add_mix(shares, gain_, {&log_gain, 1});
  manner->gain = std::exp(log_gain);
  // Accented words are not slower than the slowest speech in the LM's training, unless `speed` is.
  const float strong = std::max(speed * kStrongSpeed, std::min(speed, config_.slowest));
  float pace = 0;
  for (size_t s = 0; s < shares.size(); ++s) pace += shares[s] * config_.speakers[s].pace;
  const auto heard = [this, pace](float wanted) {  // ln of the speed that the LM receives
    const float at = std::log(wanted);
    return std::clamp(pace * at, std::min(at, std::log(config_.slowest)),
                      std::max(at, std::log(config_.fastest)));
  };
  const float log_speed = heard(speed), log_strong = heard(strong);
  manner->strong = manner->lm;
  for (int i = 0; i < config_.hidden; ++i) {
    manner->lm[i] += log_speed * speed_.f32()[i];
    manner->strong[i] += log_strong * speed_.f32()[i];
  }
  return manner;
}

}  // namespace syrinx::finch
