// The weights of attention over a block of a cache of 8 bits, for each instruction set. Only plain
// data, so that code for an instruction set shares no inline functions with the rest of the
// program.
#pragma once

#include <cstdint>

namespace syrinx {

/// Positions of a cache whose scores become weights in one step. S: a score in powers of two, which
/// is log2(e) times the score of attention.
struct Q8Block {
  static constexpr int kMost = 128;     ///< limit of positions
  static constexpr int kMostRows = 12;  ///< limit of rows
  /// The scales of keys and values; 0 at positions that were never written or that were released.
  alignas(64) float key_scales[kMost], value_scales[kMost];
  int width = 0;   ///< number of positions, a multiple of 32
  float most = 0;  ///< largest weight, 255 or 32767
};

/// A row of scores: S is sums[j] * key_scales[j] * scale.
struct Q8Row {
  const int32_t* sums = nullptr;  ///< [width], products of q and keys
  float scale = 0;            ///< value of one unit of q, times AttentionSpec::scale, times log2(e)
  int64_t low = 0, high = 0;  ///< the row attends to positions [low, high) of the block
  float* top = nullptr;       ///< the largest S so far
  float* total = nullptr;     ///< the sum of 2^(S - top) so far

  /// [width], 2^(S - the block's largest S) * value_scales, such that the largest value_scales of
  /// the row's positions becomes `most`.
  int16_t* weights = nullptr;
  float unit = 0;  ///< value of one unit of the weights
  float keep = 1;  ///< the factor by which results of earlier blocks must be multiplied
};

/// A block with the pages of the cache. A page that was released has null pointers.
struct ByteBlock : Q8Block {
  static constexpr int kPageRows = 32;
  const int8_t* keys[kMost / kPageRows] = {};    ///< [dim / 2][kPageRows][2]
  const int8_t* values[kMost / kPageRows] = {};  ///< [kPageRows / 2][dim][2]
  int dim = 0;                                   ///< head size, a multiple of 8
};

/// A row of q in 8 bits, and its result.
struct ByteRow : Q8Row {
  static constexpr int64_t kStride = 256;  ///< bytes between the q of rows
  const int8_t* q = nullptr;               ///< [dim]
  int32_t start = 0;                       ///< -128 times the sum of q
  float* mixed = nullptr;                  ///< [dim], the sum of weights times values so far
};

#if defined(__x86_64__)
/// Computes weights, units and factors of up to kMostRows rows, with the bits of attention_simd.cc.
/// Call it only if the processor has AVX-512.
void q8_weights_avx512(const Q8Block& block, Q8Row* rows, int count);
/// Computes scores and weights of up to kMostRows rows, and adds the values, with the bits of
/// attention_simd.cc. `weights` and `sums` of the rows are unused. Call it only if the processor
/// has AVX512-VNNI.
void attend_bytes_avx512vnni(const ByteBlock& block, ByteRow* rows, int count);
#endif

}  // namespace syrinx
