#include "codec/hift_source.h"

#include <cmath>
#include <numbers>

namespace syrinx {

HiftSource::HiftSource(const HiftSourceConfig& config, const Weights& weights) : config_(config) {
  const Weights w = weights.scope("l_linear");
  const Tensor weight = w.f32("weight", {1, tones()}), bias = w.f32("bias", {1});
  weight_.assign(weight.f32(), weight.f32() + tones());
  bias_ = bias.f32()[0];
  double sum = 0;
  for (const float value : weight_) sum += double{value} * value;
  norm_ = static_cast<float>(std::sqrt(sum));
}

HiftSource::State HiftSource::open(std::span<const float> offset) const {
  State state;
  state.turns.assign(tones(), 0.0);
  state.speed.assign(tones(), 0.0);
  state.noise.assign(config_.noise_numbers(), 0.f);
  state.offset.assign(tones(), 0.f);
  SYRINX_CHECK(offset.empty() || static_cast<int64_t>(offset.size()) == tones(), "[hift_source] ",
               offset.size(), " offsets, but ", tones(), " tones");
  if (config_.phase == SinePhase::kHeld) {
    std::copy(offset.begin(), offset.end(), state.offset.begin());
  }
  return state;
}

int64_t HiftSource::certain(int64_t frames) const {
  if (config_.phase != SinePhase::kInterpolated) return frames * config_.hop;
  return frames == 0 ? 0 : frames * config_.hop - config_.hop / 2;
}

/// Returns the noise in the weighted sum of the tones of a sample.
float HiftSource::noise_at(const State& state, int64_t sample) const {
  const float scale = state.voiced ? config_.noise : config_.amplitude / 3;
  if (!config_.uniform_noise) return norm_ * scale * state.noise[sample];
  float sum = 0;
  for (int64_t k = 0; k < tones(); ++k) sum += weight_[k] * state.noise[sample * tones() + k];
  return scale * sum;
}

/// Appends samples [begin, end) of the frame whose noise and voicing are in the state. The phase in
/// the middle of sample j is turns + (from + j - begin) * speed if `moving`, else turns.
void HiftSource::emit(State& state, int64_t begin, int64_t end, double from, bool moving,
                      std::vector<float>& out) const {
  for (int64_t j = begin; j < end; ++j) {
    float sum = bias_ + noise_at(state, j);
    if (state.voiced) {
      for (int64_t k = 0; k < tones(); ++k) {
        double turn = state.turns[k] + state.offset[k];
        if (moving) turn += (from + static_cast<double>(j - begin)) * state.speed[k];
        turn -= std::floor(turn);
        const auto angle = static_cast<float>(2 * std::numbers::pi * turn);
        sum += weight_[k] * config_.amplitude * std::sin(angle);
      }
    }
    out.push_back(std::tanh(sum));
  }
}

void HiftSource::run(std::span<const float> f0, bool last, const HiftNoise& noise, State& state,
                     std::vector<float>& out) const {
  const int64_t hop = config_.hop, half = hop / 2;
  const auto rate = static_cast<double>(config_.sample_rate);
  const bool held = config_.phase == SinePhase::kHeld;
  const bool stepped = config_.phase == SinePhase::kStepped;
  const auto turn = [&](double samples) {
    for (int64_t k = 0; k < tones(); ++k) {
      state.turns[k] += samples * state.speed[k];
      state.turns[k] -= std::floor(state.turns[k]);
    }
  };
  for (const float pitch : f0) {
    // Between the middles of the last frame and this frame, phases advance at this frame's speed.
    for (int64_t k = 0; k < tones(); ++k) {
      const double speed = double{pitch} * static_cast<double>(k + 1) / rate;
      state.speed[k] = held ? speed : speed - std::floor(speed);
    }
    if (!held && !stepped && state.frames > 0) emit(state, half, hop, 0.5, true, out);
    noise(state.frames, state.noise);
    state.voiced = pitch > config_.voiced_above;
    if (stepped) {
      turn(static_cast<double>(hop));
      emit(state, 0, hop, 0, false, out);
    } else if (held) {
      emit(state, 0, hop, 1.0, true, out);
      turn(static_cast<double>(hop));
    } else if (state.frames == 0) {
      turn(static_cast<double>(hop));  // before the middle of the first frame, phases are constant
      emit(state, 0, half, 0, false, out);
    } else {
      emit(state, 0, half, static_cast<double>(half) + 0.5, true, out);
      turn(static_cast<double>(hop));
    }
    ++state.frames;
  }
  if (last && !held && !stepped && state.frames > 0) emit(state, half, hop, 0, false, out);
}

}  // namespace syrinx
