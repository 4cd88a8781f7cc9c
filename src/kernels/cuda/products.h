// The products behind linears and convolutions on a GPU, and which is taken when.
#pragma once

#include "kernels/cuda/kernels.h"
#include "kernels/cuda/state.h"

namespace syrinx::cuda {

/// x [N, k] as bf16 [N, padded_k] with zeros at the end, in the arena.
const uint16_t* round_to_bf16(StepContext& ctx, const View& x, int64_t padded_k);

/// Weights of bf16 or 8 bits, any number of rows; made for up to 32 (skinny.cuh).
void skinny_gemm(StepContext& ctx, const PackedMatrix& w, const View& x, const GemmOut& out);

/// Rows of x are `spans` stretches of `span_len` numbers, `span_step` apart, as in cpu/gemm.h.
struct TileCall {
  struct Segment {
    const float* x;
    float* out;  // null: GemmOut's own
    int64_t rows, first_tile;  // first_tile: tiles (or rows) of the segments before
  };
  const void* weight = nullptr;  // [rows][padded_k] f32 or bf16
  bool bf16 = false;
  int64_t rows = 0, k = 0, padded_k = 0;
  const Segment* segments = nullptr;  // on the device
  int segment_count = 0;
  int64_t tiles = 0;  // of all segments
  int64_t x_stride = 0, x_offset = 0, span_len = 0, span_step = 0;
  float* partial = nullptr;
  unsigned* counters = nullptr;
  GemmOut out;
};
constexpr int kTileRows = 64;  // batch rows of a tile
/// f32 products of weights in f32 or bf16: linears and convolutions (tile.cu).
void tile_gemm(StepContext& ctx, TileCall call);
/// Convolutions with bf16 weights on tensor cores: x is rounded to bf16, sums are f32
/// (conv_tensor.cu). `all` rows lie in the segments, whose first_tile counts rows; `aligned`: x of all
/// segments lies at multiples of 16 bytes.
void conv_gemm(StepContext& ctx, const TileCall& call, int64_t all, bool aligned);

}  // namespace syrinx::cuda
