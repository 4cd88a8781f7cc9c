// 4-bit weights: numbers q of 0 to 15 in groups of 32 inputs, a weight being scale * (q - zero)
// with an f16 scale and a zero of 0 to 31.875 in eighths, each of one output and group.
#pragma once

#include <cstdint>

namespace syrinx {

/// How they lie in a panel of 16 outputs of a PackedMatrix: the numbers of all groups, then the
/// scales of all groups, then nothing up to a whole line of the cache. (Scales between the numbers
/// made one row slower.)
/// Numbers of a group: [4][16][4] bytes; the low half of byte j is input j of 8, the high one j
/// + 4. Scales of a group: [16] f16, then [16] bytes of zeros.
struct FourBits {
  static constexpr int64_t kPanel = 16, kGroup = 32;
  static constexpr int64_t kNumberBytes = kPanel * kGroup / 2, kScaleBytes = 3 * kPanel;

  /// Where the numbers and scales of group g begin in a panel.
  static constexpr int64_t numbers_at(int64_t g) { return g * kNumberBytes; }
  static constexpr int64_t scales_at(int64_t padded_k, int64_t g) {
    return padded_k / kGroup * kNumberBytes + g * kScaleBytes;
  }
  static constexpr int64_t panel_bytes(int64_t padded_k) {
    return (scales_at(padded_k, padded_k / kGroup) + 63) / 64 * 64;
  }

  /// Packs rows [16][padded_k] f32, padded_k of whole groups, into one panel. Each group takes the
  /// best, by squared error, of a few scales and zeros, found in turns: numbers for a scale, then
  /// the least-squares line through them. Weights that were quantised to 4 bits before (whole
  /// multiples of an f16 scale, in a span of 15) keep their values. Values are bounded to
  /// +-500,000.
  static void pack_panel(const float* rows, int64_t padded_k, uint8_t* panel);

  /// The weight of output o (of 16) and input i, exact.
  static float weight(const uint8_t* panel, int64_t padded_k, int64_t o, int64_t i);
};

}  // namespace syrinx
