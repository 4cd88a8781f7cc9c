// 4-bit weights: numbers q from 0 to 15 in groups of 32 inputs. A weight is scale * (q - zero);
// each output and group has an f16 scale and a zero from 0 to 31.875 in steps of 1/8.
#pragma once

#include <cstdint>

namespace syrinx {

/// Layout of a panel of 16 outputs in a PackedMatrix: the numbers of all groups, then the scales of
/// all groups, then padding to a whole cache line. (With scales between the numbers, products of
/// one row were slower.)
/// Numbers of a group: [4][16][4] bytes; the low half of byte j is input j of 8, the high half
/// input j + 4. Scales of a group: [16] f16, then [16] bytes of zeros.
struct FourBits {
  static constexpr int64_t kPanel = 16, kGroup = 32;
  static constexpr int64_t kNumberBytes = kPanel * kGroup / 2, kScaleBytes = 3 * kPanel;

  /// Return the offsets of the numbers and of the scales of group g in a panel.
  static constexpr int64_t numbers_at(int64_t g) { return g * kNumberBytes; }
  static constexpr int64_t scales_at(int64_t padded_k, int64_t g) {
    return padded_k / kGroup * kNumberBytes + g * kScaleBytes;
  }
  static constexpr int64_t panel_bytes(int64_t padded_k) {
    return (scales_at(padded_k, padded_k / kGroup) + 63) / 64 * 64;
  }

  /// Packs rows [16][padded_k] f32 into one panel; padded_k is a multiple of the group. For each
  /// group, the best of a few scales and zeros by squared error is used. The search alternates: the
  /// numbers for a scale, then the least-squares line through the numbers. Weights that already
  /// have 4 bits (multiples of an f16 scale, in a range of 15 steps) keep their values. Values are
  /// limited to +-500,000.
  static void pack_panel(const float* rows, int64_t padded_k, uint8_t* panel);

  /// Returns the exact weight of output o (0 to 15) and input i.
  static float weight(const uint8_t* panel, int64_t padded_k, int64_t o, int64_t i);
};

}  // namespace syrinx
