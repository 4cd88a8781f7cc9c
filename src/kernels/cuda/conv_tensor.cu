// Convolutions with bf16 weights on tensor cores, as one product over the rows of all streams. Row
// n of x is the window of an output. It is gathered from its stream while it is loaded, and rounded
// to bf16 as on the CPU. Sums are f32, over k in order, so a row's bits depend only on the row. A
// block of 8 warps computes 64 rows of 64 * kPanels outputs. It loads the next 64 values of k into
// registers while it multiplies the 64 in shared memory.
#include "kernels/cuda/gpu.cuh"
#include "kernels/cuda/matrix_layout.h"
#include "kernels/cuda/products.h"

namespace syrinx::cuda {
namespace {

constexpr int kRows = 64, kThreads = 256, kOutWarps = 4;
// Words of a row in shared memory. With this length, a quarter of a warp that reads 16-byte pieces
// (64 bytes of each of two rows) uses all banks.
constexpr int kWords = kChunk / 2 + 16;
constexpr int kMostPanels = 2;

/// A row of bf16 pairs.
struct alignas(16) SharedRow {
  uint32_t words[kWords];
  __device__ uint4* piece(int i) { return reinterpret_cast<uint4*>(words) + i; }
};

/// Where a row of the batch is read, and where its result is written.
struct RowPosition {
  const float* x;  // null if the row is beyond the batch
  float* out;
  int64_t row;  // index in its stream
};

__device__ inline RowPosition place_of(const TileCall& call, int64_t n, int64_t all) {
  if (n >= all) return {nullptr, nullptr, 0};
  const TileCall::Segment& segment = call.segments[gpu::highest(
      0, call.segment_count - 1, [&](int s) { return call.segments[s].first_tile <= n; })];
  const int64_t row = n - segment.first_tile;
  return {segment.x + row * call.x_stride + call.x_offset, segment.out, row};
}

/// Loads sixteen values of a row, from column `k` on, as pairs of bf16. `kWhole`: the values are
/// contiguous, at a multiple of 16 bytes, and are either all inside the matrix or all outside.
template <bool kWhole>
__device__ inline void load_row(const TileCall& call, const float* x, int k, uint4 (&to)[2]) {
  to[0] = to[1] = uint4{0, 0, 0, 0};
  if (x == nullptr || k >= call.k) return;
  const auto len = static_cast<unsigned>(call.span_len), column = static_cast<unsigned>(k);
  if constexpr (kWhole) {
    const unsigned span = column / len;
    const auto* at =
        reinterpret_cast<const float4*>(x + span * call.span_step + (column - span * len));
    const float4 a = at[0], b = at[1], c = at[2], d = at[3];
    to[0] = uint4{gpu::pack_bf16(a.x, a.y), gpu::pack_bf16(a.z, a.w), gpu::pack_bf16(b.x, b.y),
                  gpu::pack_bf16(b.z, b.w)};
    to[1] = uint4{gpu::pack_bf16(c.x, c.y), gpu::pack_bf16(c.z, c.w), gpu::pack_bf16(d.x, d.y),
                  gpu::pack_bf16(d.z, d.w)};
  } else {
    unsigned span = column / len, within = column - span * len;
    const auto left = static_cast<int>(call.k - k);
    float values[16];
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      values[i] = i < left ? x[span * call.span_step + within] : 0.f;
      if (++within == len) ++span, within = 0;
    }
    const auto pair = [&](int i) { return gpu::pack_bf16(values[2 * i], values[2 * i + 1]); };
    to[0] = uint4{pair(0), pair(1), pair(2), pair(3)};
    to[1] = uint4{pair(4), pair(5), pair(6), pair(7)};
  }
}

// Grid: blocks of 64 * kPanels outputs; tiles of 64 rows of all segments (first_tile counts rows).
// A thread loads 16 columns of one row of x and of kPanels rows of the matrix. A warp computes 16 *
// kPanels outputs of 32 rows.
template <int kPanels, bool kWhole>
__global__ void __launch_bounds__(kThreads, 2)
    conv_product(const __grid_constant__ TileCall call, int64_t all) {
  __shared__ SharedRow xs[kRows], ws[kRows * kPanels];
  __shared__ RowPosition places[kRows];
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32;
  const int g = thread % 32 / 4, t = thread % 4;
  const int64_t first_n = int64_t{blockIdx.y} * kRows;
  const int64_t first_out = int64_t{blockIdx.x} * kRows * kPanels;
  if (thread < kRows) places[thread] = place_of(call, first_n + thread, all);
  __syncthreads();
  const int row = thread / 4, piece = thread % 4;  // row and columns that the thread loads
  const float* x = places[row].x;
  const uint4* weight[kPanels];  // null if beyond the matrix
#pragma unroll
  for (int p = 0; p < kPanels; ++p) {
    const int64_t o = first_out + p * kRows + row;
    const auto* matrix = static_cast<const uint16_t*>(call.weight);
    weight[p] = o < call.rows
                    ? reinterpret_cast<const uint4*>(matrix + o * call.padded_k) + 2 * piece
                    : nullptr;
  }
  uint4 next_x[2], next_w[kPanels][2];
  const auto load = [&](int k) {
    load_row<kWhole>(call, x, k + 16 * piece, next_x);
#pragma unroll
    for (int p = 0; p < kPanels; ++p) {
      next_w[p][0] = weight[p] != nullptr ? weight[p][k / 8] : uint4{0, 0, 0, 0};
      next_w[p][1] = weight[p] != nullptr ? weight[p][k / 8 + 1] : uint4{0, 0, 0, 0};
    }
  };
  // The warp's part of the tile: 16 * kPanels outputs, 32 rows.
  const int out = warp % kOutWarps * 16 * kPanels, from = warp / kOutWarps * 32;
  float acc[kPanels][4][4] = {};
  load(0);
  const int columns = static_cast<int>(call.padded_k);
  for (int k = 0; k < columns; k += static_cast<int>(kChunk)) {
    *xs[row].piece(2 * piece) = next_x[0];
    *xs[row].piece(2 * piece + 1) = next_x[1];
#pragma unroll
    for (int p = 0; p < kPanels; ++p) {
      *ws[p * kRows + row].piece(2 * piece) = next_w[p][0];
      *ws[p * kRows + row].piece(2 * piece + 1) = next_w[p][1];
    }
    __syncthreads();
    if (k + kChunk < columns) load(k + static_cast<int>(kChunk));
      // If unrolled, it would need more than 128 registers, and two blocks could not share a
      // multiprocessor.
#pragma unroll 1
    for (int half = 0; half < 2; ++half) {
      uint4 b[4];
#pragma unroll
      for (int tile = 0; tile < 4; ++tile) b[tile] = *xs[from + 8 * tile + g].piece(4 * half + t);
#pragma unroll
      for (int p = 0; p < kPanels; ++p) {
        const uint4 top = *ws[out + 16 * p + g].piece(4 * half + t);
        const uint4 bottom = *ws[out + 16 * p + g + 8].piece(4 * half + t);
#pragma unroll
        for (int tile = 0; tile < 4; ++tile) {
          gpu::mma_bf16(acc[p][tile], top.x, bottom.x, top.y, bottom.y, b[tile].x, b[tile].y);
          gpu::mma_bf16(acc[p][tile], top.z, bottom.z, top.w, bottom.w, b[tile].z, b[tile].w);
        }
      }
    }
    __syncthreads();
  }
  const GemmOut::Part& part = call.out.parts[0];
#pragma unroll
  for (int p = 0; p < kPanels; ++p) {
#pragma unroll
    for (int tile = 0; tile < 4; ++tile) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const RowPosition& to = places[from + 8 * tile + 2 * t + i % 2];
        const int64_t o = first_out + out + 16 * p + g + 8 * (i / 2);
        if (to.x == nullptr || o >= part.width) continue;
        const float bias = call.out.bias != nullptr ? call.out.bias[o] : 0.f;
        to.out[to.row * part.stride + part.column + o] = acc[p][tile][i] + bias;
      }
    }
  }
}

template <int kPanels>
void launch_product(StepContext& ctx, const TileCall& call, int64_t all, bool whole) {
  const dim3 grid(gpu::blocks_for(call.rows, kRows * kPanels), gpu::blocks_for(all, kRows));
  SYRINX_CHECK(grid.y <= 65535, "[conv_gemm] too many rows for a grid: ", all);
  gpu::launch("conv_gemm", whole ? conv_product<kPanels, true> : conv_product<kPanels, false>, grid,
              kThreads, 0, stream_of(ctx), call, all);
}

}  // namespace

void conv_gemm(StepContext& ctx, const TileCall& call, int64_t all, bool aligned) {
  SYRINX_CHECK(call.bf16 && call.out.count == 1 && call.k <= INT32_MAX && call.span_len > 0,
               "[conv_gemm] unsupported call: k ", call.k, " in spans of ", call.span_len);
  const bool whole = aligned && call.span_len % 16 == 0 && call.span_step % 4 == 0 &&
                     call.x_stride % 4 == 0 && call.x_offset % 4 == 0;
  if (call.rows > kRows) {
    launch_product<kMostPanels>(ctx, call, all, whole);
  } else {
    launch_product<1>(ctx, call, all, whole);
  }
}

}  // namespace syrinx::cuda
