// The weights of attention over a block of a cache of 8 bits, for each instruction set. Only plain
// data, so that code for an instruction set shares no inline functions with the rest of the
// program.
#pragma once

#include <cstdint>

namespace syrinx {

/// Positions of a cache whose scores become weights in one step.
struct Q8Block {
  static constexpr int kMost = 128;     ///< limit of positions
  static constexpr int kMostRows = 12;  ///< limit of rows
  /// The scales of keys and values; 0 at positions that were never written or that were released.
  alignas(64) float key_scales[kMost], value_scales[kMost];
  int width = 0;    ///< number of positions, a multiple of 32
  float scale = 1;  ///< AttentionSpec::scale
};

/// A row of scores. Score j is sums[j] * (key_scales[j] * q_scale) * scale.
struct Q8Row {
  const int32_t* sums = nullptr;  ///< [width], products of q and keys
  float q_scale = 0;              ///< value of one unit of q
  int64_t low = 0, high = 0;      ///< the row attends to positions [low, high) of the block
  float* top = nullptr;           ///< the largest score so far
  float* total = nullptr;         ///< the sum of e^(score - top) so far

  int16_t* weights = nullptr;  ///< [width], e^(score - top) * value_scales
  float weight_scale = 0;      ///< value of one unit of `weights`
  float keep = 1;              ///< the factor by which results of earlier blocks must be multiplied
};

#if defined(__x86_64__)
/// Computes weights, scale and factor of up to kMostRows rows, with the bits of attention_simd.cc.
/// Call it only if the processor has AVX-512.
void q8_weights_avx512(const Q8Block& block, Q8Row* rows, int count);
#endif

}  // namespace syrinx
