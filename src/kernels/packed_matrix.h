// A weight matrix [out, k] in the order in which products read it: panels of 16 outputs, and within
// a panel one k after another. Vector lanes are outputs, so sums across lanes are not needed. Every
// output adds its k products in the same order for any number of rows in the call. Immutable after
// pack(); many threads may read it.
#pragma once

#include <cstdint>

#include "base/thread_pool.h"
#include "tensor/tensor.h"

namespace syrinx {

/// How weights are stored. Activations and sums are f32 for kF32 and kBF16.
/// kBF16A16: weights and activations are bf16, sums are f32. With many rows it needs half the time
/// of f32 if the processor has AVX512-BF16, and otherwise at most the time of f32. For networks
/// that always process many rows (codecs, flows); --weights cannot select it. A matrix whose rows
/// have stretches of odd length is kBF16 instead, and so is every matrix on a GPU.
/// kQ8: int8 weights with one scale per output and 64 inputs (8.25 bits per weight). Activations
/// become int16 with a scale per row; products and sums within the 64 inputs are exact integers.
/// kQ8A8: the weights of kQ8. Activations become int8 with a scale per row and 64 inputs. This
/// costs accuracy (linear.h). With many rows it is up to twice as fast if the processor has VNNI,
/// and no faster elsewhere. On a GPU it is kQ8.
/// kQ4: weights of 4 bits with a scale and a zero per output and 32 inputs (4.75 bits per weight,
/// four_bits.h). Activations become int8 with a scale per row and 32 inputs, which adds little to
/// the error of the weights. On a GPU it is kBF16.
/// kMixed: a type for whole networks. Linears of a decoder's blocks that lose little accuracy are
/// kQ4 (nn/mixed_weights.h has the rule). A single matrix with the type kMixed is kQ8.
enum class WeightType : uint8_t { kF32, kBF16, kBF16A16, kQ8, kQ8A8, kQ4, kMixed };

/// Returns "f32", "bf16", "bf16a16", "q8", "q8a8", "q4" or "mixed"; static storage.
const char* weight_type_name(WeightType type);

/// Returns whether weights are stored in 8 or 4 bits, which only linears support.
constexpr bool is_quantized(WeightType type) { return type >= WeightType::kQ8; }

/// Returns the type to use for linears whose calls always have many rows.
constexpr WeightType for_many_rows(WeightType type) {
  return type == WeightType::kBF16 ? WeightType::kBF16A16 : type;
}

/// Returns the type to use for convolutions, which do not support 8 or 4 bits.
constexpr WeightType for_convolution(WeightType type) {
  return is_quantized(type) ? WeightType::kBF16A16 : for_many_rows(type);
}

/// Returns the type to use for a matrix whose rows are stretches of `len` numbers.
constexpr WeightType pairs_if_even(WeightType type, int64_t len) {
  return type == WeightType::kBF16A16 && len % 2 ? WeightType::kBF16 : type;
}

/// Returns the type to use for matrices that need more than 4 bits: all matrices except those in
/// the blocks of large decoders.
constexpr WeightType at_least_8_bits(WeightType type) {
  return type == WeightType::kQ4 || type == WeightType::kMixed ? WeightType::kQ8 : type;
}

/// Layout. K is k rounded up to the group of 8 or 4 bits. The number of outputs is rounded up to
/// kPanel. The additional numbers are zeros.
///   kF32   panel p: [k][16] f32           kBF16  panel p: [k][8][2] bf16, outputs i and i + 8
///   kBF16A16 panel p: [k / 2][16][2] bf16, pairs of k
///   8 bits panel p: K/64 groups of 32 pairs of k, [pair][16][2] int8, then [8][2] bf16 scales
///   kQ4    panel p: as described at FourBits
struct PackedMatrix {
  static constexpr int64_t kPanel = 16, kGroup = 64;
  static constexpr int64_t kGroupBytes = kPanel * kGroup + kPanel * 2;

  WeightType type = WeightType::kF32;
  int64_t out = 0, k = 0;
  Tensor data;  // [bytes] u8

  int64_t panels() const { return (out + kPanel - 1) / kPanel; }
  int64_t padded_k() const;
  int64_t panel_bytes() const;

  /// Returns a copy in the memory of a GPU, in rows: see kernels/cuda/matrix_layout.h.
  PackedMatrix on_device(Device device) const;

  /// Packs a matrix. fill(o, row) writes weights [k] of output o; several threads may call it at
  /// once. Uses the threads and the store of this thread's PackingScope (kernels/packing.h), if
  /// one exists. Throws OutOfMemory if the matrix does not fit in memory, and the exceptions of
  /// `fill`.
  static PackedMatrix pack(int64_t out, int64_t k, WeightType type,
                           FunctionRef<void(int64_t o, float* row)> fill);
};

/// Copies `count` elements of an f32, bf16 or f16 view from element `begin` on, as f32. Throws
/// NotFinite if an element is NaN or infinite.
void copy_as_f32(const View& from, int64_t begin, int64_t count, float* to);

}  // namespace syrinx
