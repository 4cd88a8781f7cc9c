// The products that linears and convolutions on a GPU use.
#pragma once

#include "kernels/cuda/kernels.h"
#include "kernels/cuda/state.h"

namespace syrinx::cuda {

/// Rounds x [N, k] to bf16 [N, padded_k], padded with zeros, in memory of the arena.
const uint16_t* round_to_bf16(StepContext& ctx, const View& x, int64_t padded_k);

/// Computes a product with weights of bf16 or 8 bits for any number of rows. Optimised for up to 64
/// rows (skinny.cuh).
void skinny_gemm(StepContext& ctx, const PackedMatrix& w, const View& x, const GemmOut& out,
                 const GemmNorm& norm);

/// The tile that a block of the product for many rows computes: 64 outputs of 64 rows, or 128 (64
/// with 8 bits) of 128. kNone: the product for small batches is better, or the matrix splits k.
enum class WideTile : uint8_t { kNone, kSmall, kLarge };
constexpr int64_t kMostNarrowRows = 64;
/// With fewer large tiles, some multiprocessors of an H200 would be idle.
constexpr int64_t kFewBlocks = 128;
/// SYRINX_GPU_PRODUCTS=narrow|small|large replaces this choice, to compare tiles on one machine.
WideTile wide_tile(const PackedMatrix& w, int64_t rows);
/// As skinny_gemm, with the same bits, for many rows (wide.cuh). `tile` is not kNone.
void wide_gemm(StepContext& ctx, const PackedMatrix& w, const View& x, const GemmOut& out,
               const GemmNorm& norm, WideTile tile);

/// A product. A row of x consists of k / span_len stretches of `span_len` numbers. The stretches
/// begin `span_step` numbers apart, as in cpu/gemm.h.
struct TileCall {
  struct Segment {
    const float* x;
    float* out;                // null: GemmOut has the pointer
    int64_t rows, first_tile;  // first_tile: number of tiles (or rows) in earlier segments
  };
  const void* weight = nullptr;  // [rows][padded_k] f32 or bf16
  bool bf16 = false;
  int64_t rows = 0, k = 0, padded_k = 0;
  const Segment* segments = nullptr;  // array in device memory
  int segment_count = 0;
  int64_t tiles = 0;  // number of tiles in all segments
  int64_t x_stride = 0, x_offset = 0, span_len = 0, span_step = 0;
  float* partial = nullptr;
  unsigned* counters = nullptr;
  GemmOut out;
};
constexpr int kTileRows = 64;  // batch rows per tile
/// Computes f32 products with weights in f32 or bf16, for linears and convolutions (tile.cu).
void tile_gemm(StepContext& ctx, TileCall call);
/// Computes convolutions with bf16 weights on tensor cores: x is rounded to bf16, sums are f32
/// (conv_tensor.cu). `all`: the number of rows in all segments; first_tile of a segment counts
/// rows. `aligned`: the addresses of all segments' x are multiples of 16 bytes.
void conv_gemm(StepContext& ctx, const TileCall& call, int64_t all, bool aligned);

}  // namespace syrinx::cuda
