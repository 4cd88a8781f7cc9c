// The interface between gemm.cc and the code compiled for one instruction set: a block of rows
// times some panels. Only plain data, so that code for an instruction set shares no inline
// functions with the rest of the program.
#pragma once

#include <cstdint>

namespace syrinx::cpu {

constexpr int kMaxRows = 96;  // most rows of a block
constexpr int kTileRows = 6;  // most rows of a register tile of f32 sums

/// The rows of one block.
struct GemmRows {
  int count = 0;
  // Row i: f32 numbers; for bf16a16 the output of `round`; for q8 int16; for q8a8 and q4 the output
  // of quantize_groups or quantize_q4.
  const void* x[kMaxRows];
  float scale[kMaxRows];  // q8: value of one unit of x
  // Where finish() will write the first column of each row, to be prefetched; null: unknown.
  float* const* out = nullptr;
  int64_t column = 0;
};

/// For q8a8, stored after the numbers of a row: one GemmGroup for each 64 numbers.
struct GemmGroup {
  float scale = 0;    // value of one unit of x
  int32_t start = 0;  // initial value of the group's sums
};

/// For q4, stored after the int8 numbers of a row: one GemmGroupQ4 for each 32 numbers.
struct GemmGroupQ4 {
  float scale = 0;  // value of one unit of x
  float sum = 0;    // sum of the group's numbers
};

/// The weights of a GemmCall. `data` points to panel 0.
struct GemmWeights {
  const uint8_t* data = nullptr;
  int type = 0;  // a value of WeightType
  int64_t panels = 0, panel_bytes = 0, padded_k = 0;
  int64_t spans = 1, span_len = 0, span_step = 0;
};

/// Computes the sums (without bias) of the rows times panels [panel, panel + count) with count <=
/// 4, and writes them to sums [count][rows.count][16].
using GemmProducts = void (*)(const GemmWeights& w, const GemmRows& rows, int64_t panel, int count,
                              float* sums);

/// Writes out[i][column, column + width) = sums[i] + bias, or adds this to `out`. If sums1 is set,
/// writes silu(sums + bias) * (sums1 + bias1). bias is null or [16].
struct GemmFinish {
  const float *sums = nullptr, *bias = nullptr, *sums1 = nullptr, *bias1 = nullptr;
  float* const* out = nullptr;  // [rows], addresses of column 0 of each row
  int64_t column = 0;           // the first column to be written
  int rows = 0, width = 16;
  bool add = false;
};

/// Quantises x [k] f32 -> q [padded_k] int16 (padded with 0), in units of the returned scale.
using GemmQuantize = float (*)(const float* x, int64_t k, int64_t padded_k, int16_t* q);

/// Quantises x [k] f32 to numbers up to +-127 [padded_k], in the instruction set's layout, followed
/// by GemmGroup [padded_k / 64]. `row` has space for gemm_group_row_bytes().
using GemmQuantizeGroups = void (*)(const float* x, int64_t k, int64_t padded_k, void* row);
constexpr int64_t gemm_group_row_bytes(int64_t padded_k) {
  return padded_k * 2 + padded_k / 64 * static_cast<int64_t>(sizeof(GemmGroup));
}

/// Returns the bytes of a row for q4: int8 [padded_k], GemmGroupQ4 [padded_k / 32].
constexpr int64_t gemm_q4_row_bytes(int64_t padded_k) {
  return padded_k + padded_k / 32 * static_cast<int64_t>(sizeof(GemmGroupQ4));
}

/// Rounds x [count] f32 to the nearest bf16, ties to even, in the instruction set's layout. Each
/// number takes GemmKernels::rounded_bytes bytes.
using GemmRound = void (*)(const float* x, int64_t count, void* to);

/// Kernels of one instruction set. Products of 8 and 4 bits have the same bits on each instruction
/// set with fused multiply and add. For bf16a16 this holds if all numbers are normal, except on
/// AMX, which adds in another order (gemm_amx_impl.h).
struct GemmKernels {
  GemmProducts products;  // products with weights of f32 or bf16
  GemmProducts products_bf16a16;
  GemmProducts products_q8;
  GemmProducts products_q8a8;
  GemmProducts products_q4;
  void (*finish)(const GemmFinish& f);
  GemmQuantize quantize;
  GemmQuantizeGroups quantize_groups;
  GemmQuantizeGroups quantize_q4;
  GemmRound round;
  int rounded_bytes;
};

/// Returns the kernels in plain C++.
const GemmKernels& gemm_kernels_portable();
/// Returns the kernels for AVX2; call it only if the processor has AVX2.
const GemmKernels& gemm_kernels_avx2();
/// Returns the kernels for AVX-512; call it only if the processor has AVX-512.
const GemmKernels& gemm_kernels_avx512();
/// Returns the kernels for NEON; call it only on aarch64.
const GemmKernels& gemm_kernels_neon();
/// Replaces the 8-bit and 4-bit products of avx2 or avx512 by AVX-VNNI's dot products.
void use_avxvnni(GemmKernels& kernels);
/// Replaces the integer products by those of AVX512-VNNI.
void use_avx512vnni(GemmKernels& kernels);
/// Replaces the bf16a16 products by AVX512-BF16's dot products.
void use_avx512bf16(GemmKernels& kernels);
/// Sets products that use AMX tiles: for bf16a16 in `few` and `many`, for weights of 8 and 4 bits
/// only in `many`. `many` is for calls with many rows.
void use_amx(GemmKernels& few, GemmKernels& many);
/// Replaces the q8a8 and q4 products of neon by dot products.
void use_neondot(GemmKernels& kernels);

}  // namespace syrinx::cpu
