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
  const void* x[kMaxRows];  // f32, or int16 for q8
  float scale[kMaxRows];    // q8: what one unit of x is worth
};

/// See GemmCall; `data` points at panel 0.
struct GemmWeights {
  const uint8_t* data = nullptr;
  int type = 0;  // WeightType
  int64_t panel_bytes = 0, padded_k = 0;
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

struct GemmKernels {
  GemmProducts products;     // f32 and bf16
  GemmProducts products_q8;  // the same bits from each instruction set that fuses multiply and add
  void (*finish)(const GemmFinish& f);
  GemmQuantize quantize;
};

const GemmKernels& gemm_kernels_portable();
const GemmKernels& gemm_kernels_avx2();
const GemmKernels& gemm_kernels_avx512();
/// products_q8 with dot products of int16 pairs.
GemmProducts gemm_q8_avxvnni();
GemmProducts gemm_q8_avx512vnni();

}  // namespace syrinx::cpu
