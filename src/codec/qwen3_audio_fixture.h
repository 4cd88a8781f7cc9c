// Recordings of the goldens of Qwen3-Omni, from whole numbers: see signal() of
// tests/parity/qwen3_omni/make_golden.py.
#pragma once

#include <cstdint>
#include <vector>

namespace syrinx::fixture {

inline std::vector<float> golden_signal(int64_t count, uint32_t seed) {
  std::vector<float> out(static_cast<size_t>(count));
  uint32_t state = seed;
  for (int64_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    const int64_t noise = int64_t{state >> 16} - 32768;
    out[static_cast<size_t>(i)] = static_cast<float>((noise * ((i * 5) & 16383)) >> 14) / 32768.f;
  }
  return out;
}

}  // namespace syrinx::fixture
