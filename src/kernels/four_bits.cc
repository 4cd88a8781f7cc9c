#include "kernels/four_bits.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/float16.h"

namespace syrinx {
namespace {

constexpr int64_t kPanel = FourBits::kPanel, kGroup = FourBits::kGroup;
constexpr int kLargest = 15;         // largest stored number
constexpr float kMostEighths = 255;  // largest zero, in eighths

/// One number for each of 16 outputs. The lanes are the outputs, so that loops over them vectorise.
using Lanes = float[kPanel];
struct Group {
  float w[kGroup][kPanel];
};
struct Choice {
  float q[kGroup][kPanel];
  Lanes scale, eighths;
};

float nearest_f16(float value) { return f16_to_f32(f32_to_f16(std::min(value, 65504.0f))); }

/// Returns the nearest integer of a value far below 2^22.
float rounded(float value) {
  constexpr float kMagic = 12582912.0f;
  return (value + kMagic) - kMagic;
}

/// Computes the numbers for the scales and zeros of `choice`, and their squared errors.
void choose_numbers(const Group& group, Choice& choice, Lanes& error) {
  // Local copies: the compiler then knows that writes to `choice` do not change them.
  Lanes scale, inverse, zero, sum = {};
  for (int o = 0; o < kPanel; ++o) {
    scale[o] = choice.scale[o];
    inverse[o] = scale[o] > 0 ? 1.0f / scale[o] : 0.0f;
    zero[o] = choice.eighths[o] * 0.125f;
  }
  for (int i = 0; i < kGroup; ++i) {
    for (int o = 0; o < kPanel; ++o) {
      const float at = group.w[i][o] * inverse[o] + zero[o];
      const float q = rounded(std::min(std::max(at, 0.0f), static_cast<float>(kLargest)));
      const float off = scale[o] * (q - zero[o]) - group.w[i][o];
      choice.q[i][o] = q;
      sum[o] += off * off;
    }
  }
  std::copy_n(sum, kPanel, error);
}

/// Computes scales and zeros: the line w = scale * (q - zero) that fits the numbers of `choice`
/// best.
void fit_line(const Group& group, Choice& choice) {
  Lanes q1 = {}, q2 = {}, w1 = {}, wq = {};
  for (int i = 0; i < kGroup; ++i) {
    for (int o = 0; o < kPanel; ++o) {
      const float q = choice.q[i][o], w = group.w[i][o];
      q1[o] += q;
      q2[o] += q * q;
      w1[o] += w;
      wq[o] += w * q;
    }
  }
  for (int o = 0; o < kPanel; ++o) {
    const float spread = kGroup * q2[o] - q1[o] * q1[o];
    if (spread <= 0) continue;  // all numbers are equal: keep scale and zero
    const float scale = nearest_f16((kGroup * wq[o] - q1[o] * w1[o]) / spread);
    if (!(scale > 0)) continue;
    const float eighths = (q1[o] - w1[o] / scale) * (8.0f / kGroup);
    choice.scale[o] = scale;
    choice.eighths[o] = rounded(std::min(std::max(eighths, 0.0f), kMostEighths));
  }
}

/// If the weights of output o are multiples of an f16 scale, writes their exact numbers to `to` and
/// returns true.
bool take_exact(const Group& group, int64_t o, Choice& to) {
  float top = 0, least = INFINITY;
  for (int i = 0; i < kGroup; ++i) {
    const float size = std::fabs(group.w[i][o]);
    top = std::max(top, size);
    if (size > 0) least = std::min(least, size);
  }
  if (least * (kLargest + 1) < top) return false;
  for (int most = 1; top > 0 && most <= kLargest + 1; ++most) {
    const float scale = top / static_cast<float>(most);
    if (nearest_f16(scale) != scale || scale * static_cast<float>(most) != top) continue;
    float low = 0, high = -INFINITY;  // a zero must not be negative
    int i = 0;
    for (; i < kGroup; ++i) {
      const float n = rounded(group.w[i][o] / scale);
      if (n * scale != group.w[i][o]) break;
      low = std::min(low, n);
      high = std::max(high, n);
    }
    if (i < kGroup || high - low > kLargest) continue;
    to.scale[o] = scale;
    to.eighths[o] = -low * 8;
    for (i = 0; i < kGroup; ++i) to.q[i][o] = rounded(group.w[i][o] / scale) - low;
    return true;
  }
  return false;
}

/// Searches the best choice, starting from a few initial choices.
void search(const Group& group, Choice& best) {
  Lanes low = {}, high = {}, least;
  for (int i = 0; i < kGroup; ++i) {
    for (int o = 0; o < kPanel; ++o) {
      low[o] = std::min(low[o], group.w[i][o]);
      high[o] = std::max(high[o], group.w[i][o]);
    }
  }
  std::fill_n(least, kPanel, INFINITY);
  Choice choice;
  // Number of steps in the whole range. With more than 15 steps, the extremes are clipped.
  for (const float steps : {15.0f, 16.5f}) {
    for (int o = 0; o < kPanel; ++o) {
      choice.scale[o] = nearest_f16((high[o] - low[o]) / steps);
      const float middle = (low[o] + high[o]) * 0.5f;
      const float zero = choice.scale[o] > 0 ? kLargest * 0.5f - middle / choice.scale[o] : 0.0f;
      choice.eighths[o] = rounded(std::min(std::max(zero * 8, 0.0f), kMostEighths));
    }
    Lanes error;
    choose_numbers(group, choice, error);
    for (int turn = 0; turn < 2; ++turn) {
      fit_line(group, choice);
      choose_numbers(group, choice, error);
      for (int o = 0; o < kPanel; ++o) {
        if (!(error[o] < least[o])) continue;
        least[o] = error[o];
        best.scale[o] = choice.scale[o];
        best.eighths[o] = choice.eighths[o];
      }
    }
  }
  choose_numbers(group, best, least);
}

void write(const Choice& choice, uint8_t* numbers, uint8_t* scales) {
  for (int64_t i = 0; i < kGroup; ++i) {
    if (i % 8 >= 4) continue;  // already written, together with number i - 4
    for (int64_t o = 0; o < kPanel; ++o) {
      const int both = static_cast<int>(choice.q[i][o] + 16 * choice.q[i + 4][o]);
      numbers[(i / 8 * kPanel + o) * 4 + i % 4] = static_cast<uint8_t>(both);
    }
  }
  for (int64_t o = 0; o < kPanel; ++o) {
    const uint16_t scale = f32_to_f16(choice.scale[o]);
    std::memcpy(scales + 2 * o, &scale, 2);
    scales[2 * kPanel + o] = static_cast<uint8_t>(choice.eighths[o]);
  }
}

}  // namespace

void FourBits::pack_panel(const float* rows, int64_t padded_k, uint8_t* panel) {
  constexpr float kMost = 500000.0f;
  for (int64_t g = 0; g < padded_k / kGroup; ++g) {
    Group group;
    for (int64_t o = 0; o < kPanel; ++o) {
      const float* w = rows + o * padded_k + g * kGroup;
      for (int64_t i = 0; i < kGroup; ++i) group.w[i][o] = std::clamp(w[i], -kMost, kMost);
    }
    Choice choice;
    search(group, choice);
    for (int64_t o = 0; o < kPanel; ++o) take_exact(group, o, choice);
    write(choice, panel + numbers_at(g), panel + scales_at(padded_k, g));
  }
}

float FourBits::weight(const uint8_t* panel, int64_t padded_k, int64_t o, int64_t i) {
  const uint8_t byte = panel[numbers_at(i / kGroup) + (i % kGroup / 8 * kPanel + o) * 4 + i % 4];
  const uint8_t* scales = panel + scales_at(padded_k, i / kGroup);
  uint16_t scale;
  std::memcpy(&scale, scales + 2 * o, 2);
  const int q = i % 8 < 4 ? byte & 15 : byte >> 4;
  return f16_to_f32(scale) * (static_cast<float>(q) - 0.125f * scales[2 * kPanel + o]);
}

}  // namespace syrinx
