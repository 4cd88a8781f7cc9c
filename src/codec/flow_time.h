// Time in the flow matching of CosyVoice and related models: Euler's method along a cosine
// schedule, and the encoding of a time as an estimator's input.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

namespace syrinx {

/// Times of the solver's steps in [0, 1), and the length of each step. The f32 operations and their
/// order are those of CosyVoice:cosyvoice/flow/flow_matching.py.
struct FlowSchedule {
  std::vector<float> times, deltas;
  /// End time of each step, for networks with this input. Empty for other networks.
  std::vector<float> ends = {};
};
/// Returns steps of equal length, with their end times (chatterbox:models/s3gen/flow_matching.py,
/// basic_euler).
inline FlowSchedule even_schedule(int64_t steps) {
  FlowSchedule out;
  const auto moment = [&](int64_t s) { return static_cast<float>(s) / static_cast<float>(steps); };
  for (int64_t s = 0; s < steps; ++s) {
    out.times.push_back(moment(s));
    out.ends.push_back(moment(s + 1));
    out.deltas.push_back(out.ends.back() - out.times.back());
  }
  return out;
}
/// Returns the times 1 - cos(pi / 2 * i / steps), i from 0 to `steps`.
inline FlowSchedule cosine_schedule(int64_t steps) {
  std::vector<float> span;
  for (int64_t s = 0; s <= steps; ++s) {
    const float turn = static_cast<float>(s) / static_cast<float>(steps);
    span.push_back(1 - std::cos(turn * 0.5f * std::numbers::pi_v<float>));
  }
  FlowSchedule out;
  float t = span[0];
  for (int64_t s = 0; s < steps; ++s) {
    out.times.push_back(t);
    out.deltas.push_back(span[s + 1] - t);
    t += out.deltas.back();
  }
  return out;
}

/// Writes sines, then cosines, of 1000 t at falling frequencies (Matcha-TTS, SinusoidalPosEmb).
inline void encode_flow_time(float t, int64_t width, float* out) {
  const int64_t half = width / 2;
  const float step = std::log(10000.f) / static_cast<float>(half - 1);
  for (int64_t i = 0; i < half; ++i) {
    const float angle = 1000 * t * std::exp(static_cast<float>(i) * -step);
    out[i] = std::sin(angle);
    out[half + i] = std::cos(angle);
  }
}

/// Writes cosines, then sines, of 1000 t at falling frequencies (DiT's TimestepEmbedder).
inline void encode_dit_time(float t, int64_t width, float* out) {
  const int64_t half = width / 2;
  const float step = std::log(10000.f) / static_cast<float>(half);
  for (int64_t i = 0; i < half; ++i) {
    const float angle = 1000 * t * std::exp(static_cast<float>(i) * -step);
    out[i] = std::cos(angle);
    out[half + i] = std::sin(angle);
  }
}

}  // namespace syrinx
