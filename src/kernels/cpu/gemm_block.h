// What gemm.cc asks of the code built for one instruction set: a block of rows times some panels.
// Plain data, so that those files share no inline code with the rest of the program.
#pragma once

#include <cstdint>

namespace syrinx::cpu {

constexpr int kMaxRows = 96;  // rows of a block
constexpr int kTileRows = 6;  // rows of a register tile of f32 sums

/// Rows of one block and where their results go.
struct GemmRows {
  int count = 0;
  // f32, what `round` wrote for bf16a16, int16 for q8, what quantize_{groups,q4} wrote for q8a8, q4
  const void* x[kMaxRows];
  float scale[kMaxRows];  // q8: what one unit of x is worth
};

/// q8a8: behind the numbers of a row, for each group of 64.
struct GemmGroup {
  float scale = 0;    // what one unit of x is worth
  int32_t start = 0;  // where the group's sums begin
};

/// q4: behind the int8 numbers of a row, for each group of 32.
struct GemmGroupQ4 {
  float scale = 0;  // what one unit of x is worth
  float sum = 0;    // of the group's numbers
};

/// See GemmCall; `data` points at panel 0.
struct GemmWeights {
  const uint8_t* data = nullptr;
  int type = 0;  // WeightType
  int64_t panels = 0, panel_bytes = 0, padded_k = 0;
  int64_t spans = 1, span_len = 0, span_step = 0;
};

/// Sums without bias of the rows times panels [panel, panel + count), count <= 4, into
/// sums [count][rows.count][16].
using GemmProducts = void (*)(const GemmWeights& w, const GemmRows& rows, int64_t panel, int count,
                              float* sums);

/// out[i][0, width) = or += sums[i] + bias, rows `out_stride` apart or at out_rows[i] if given.
/// If sums1 is given: silu(sums + bias) * (sums1 + bias1). bias null or [16].
struct GemmFinish {
  const float *sums = nullptr, *bias = nullptr, *sums1 = nullptr, *bias1 = nullptr;
  float* const* out = nullptr;  // [rows], already at the column
  int rows = 0, width = 16;
  bool add = false;
};

/// x [k] f32 -> q [padded_k] int16 (the rest 0) in units of the returned scale.
using GemmQuantize = float (*)(const float* x, int64_t k, int64_t padded_k, int16_t* q);

/// x [k] f32 -> numbers up to +-127 [padded_k] in a form that the instruction set likes, and
/// GemmGroup [padded_k / 64]; row has room for gemm_group_row_bytes.
using GemmQuantizeGroups = void (*)(const float* x, int64_t k, int64_t padded_k, void* row);
constexpr int64_t gemm_group_row_bytes(int64_t padded_k) {
  return padded_k * 2 + padded_k / 64 * static_cast<int64_t>(sizeof(GemmGroup));
}

/// The same for q4: int8 [padded_k], GemmGroupQ4 [padded_k / 32].
constexpr int64_t gemm_q4_row_bytes(int64_t padded_k) {
  return padded_k + padded_k / 32 * static_cast<int64_t>(sizeof(GemmGroupQ4));
}

/// x [count] f32 -> bf16 numbers by rounding to nearest even, in a form that the instruction set
/// likes: GemmKernels::rounded_bytes for each.
using GemmRound = void (*)(const float* x, int64_t count, void* to);

/// The products of 8 and 4 bits have the same bits from each instruction set that fuses multiply
/// and add; so have those of bf16a16 as long as no number is too small to be a normal one, but for
/// those of AMX, whose sums have an order of their own (gemm_amx_impl.h).
struct GemmKernels {
  GemmProducts products;  // f32 and bf16
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

/// The kernels in plain C++.
const GemmKernels& gemm_kernels_portable();
/// The kernels for AVX2; call only where the processor has it.
const GemmKernels& gemm_kernels_avx2();
/// The kernels for AVX-512; call only where the processor has it.
const GemmKernels& gemm_kernels_avx512();
/// The kernels for NEON on aarch64.
const GemmKernels& gemm_kernels_neon();
/// Puts 8-bit and 4-bit products with dot products in place of those of avx2 and of avx512.
void use_avxvnni(GemmKernels& kernels);
/// Replaces the integer products by those of AVX512-VNNI.
void use_avx512vnni(GemmKernels& kernels);
/// Puts bf16a16 products with dot products in place.
void use_avx512bf16(GemmKernels& kernels);
/// Puts products by tiles in place: those of bf16a16 in both, the others in what is for calls of
/// many rows.
void use_amx(GemmKernels& few, GemmKernels& many);
/// Puts q8a8 and q4 products with dot products in place of those of neon.
void use_neondot(GemmKernels& kernels);

}  // namespace syrinx::cpu
