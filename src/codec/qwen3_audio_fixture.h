// Recordings for the golden tests of Qwen3-Omni and Whisper, computed from integers as signal() in
// tests/parity/qwen3_omni/make_golden.py and whisper/make_golden.py does.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "codec/qwen3_audio_tower.h"
#include "kernels/fixture.h"

namespace syrinx::fixture {

inline std::vector<float> golden_signal(int64_t count, uint32_t seed, int64_t swell = 5) {
  std::vector<float> out(static_cast<size_t>(count));
  uint32_t state = seed;
  for (int64_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    const int64_t noise = int64_t{state >> 16} - 32768;
    out[static_cast<size_t>(i)] =
        static_cast<float>((noise * ((i * swell) & 16383)) >> 14) / 32768.f;
  }
  return out;
}

/// Encodes a window into `out` [rows, width] in host memory, on the tower's device.
inline void encode_window(Bench& bench, const Qwen3AudioTower& tower,
                          const Qwen3AudioTower::Window& window, const View& out) {
  tower.encode(bench.ctx, window, bench.on(out));
  bench.back();
}

/// Encodes a recording window by window, and returns all its rows.
inline Tensor encode_recording(const Qwen3AudioTower& tower, std::span<const float> samples,
                               int threads = 1) {
  Bench bench(threads, tower.device());
  const auto length = static_cast<int64_t>(samples.size());
  const float loudest = tower.extremes(samples).loudest;
  Tensor rows({tower.count(length), tower.config().out}, DType::kF32);
  for (int64_t window = 0, row = 0; row < rows.shape()[0]; ++window) {
    const int64_t end = row + tower.window_rows(window, length);
    encode_window(bench, tower, {window, length, loudest, 0, samples}, rows.view().slice(row, end));
    row = end;
  }
  return rows;
}

}  // namespace syrinx::fixture
