// The product for many rows (prompts). Weights and activations pass through shared memory, in
// pieces of 64 values of k, so a block of 8 warps reads both once for its tile of outputs. Up to
// kStages - 1 pieces are copied while one is multiplied. A warp sums the ranges of k that the warps
// of the small-batch product (skinny.cuh) sum, with the same instructions, and adds them in the
// same order. So a row has the same bits from either product.
#pragma once

#include "kernels/cuda/gemm_out.cuh"
#include "kernels/cuda/matrix_layout.h"
#include "kernels/cuda/widen.cuh"

namespace syrinx::cuda {

struct WideCall {
  const void* weight = nullptr;      // [rows][padded_k]
  const uint16_t* scales = nullptr;  // for 8 bits: [rows][padded_k / 64] bf16
  int64_t rows = 0, padded_k = 0;
  const uint16_t* x = nullptr;  // [n][padded_k] bf16
  int64_t n = 0;
  GemmOut out;
};

constexpr int kWideThreads = 256;

/// The shape of a block: kPanels panels of 16 outputs and kTiles tiles of 8 rows for each of 2 x 4
/// warps.
template <int kPanels, int kTiles, bool kQ8>
struct WideShape {
  static constexpr int kOuts = 2 * 16 * kPanels, kRows = 4 * 8 * kTiles, kStages = 4;
  // A piece: 16 bytes. A chunk of k is 8 pieces of activations, and 8 or 4 pieces of weights.
  static constexpr int kPieces = 8, kWeightPieces = kQ8 ? 4 : 8;
  static constexpr int kStage = kRows * kPieces + kOuts * kWeightPieces;  // pieces
  static constexpr int kOutStride = kOuts + 4;  // f32; the lanes of a warp write to all banks
  static constexpr int kBytes =
      16 * kStages * kStage > 4 * kRows* kOutStride ? 16 * kStages* kStage : 4 * kRows* kOutStride;
};

// Grid: tiles of rows, so that blocks that share weights run together; tiles of outputs.
template <int kPanels, int kTiles, bool kQ8>
__global__ void __launch_bounds__(kWideThreads, kPanels* kTiles <= 4 ? 2 : 1)
    wide(const __grid_constant__ WideCall call) {
  using Shape = WideShape<kPanels, kTiles, kQ8>;
  constexpr int kStages = Shape::kStages, kRows = Shape::kRows, kOuts = Shape::kOuts;
  uint4* const room = gpu::dynamic_shared<uint4>();
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  const int g = lane / 4, t = lane % 4;
  const int64_t first_n = int64_t{blockIdx.x} * kRows, first_out = int64_t{blockIdx.y} * kOuts;
  const auto chunks = static_cast<int>(call.padded_k / kChunk);

  // The pieces of odd rows are exchanged, so that the eight lanes that read together (of two rows)
  // use all banks.
  constexpr int kOdd = kQ8 ? 1 : 4;
  const auto place = [](int row, int piece) {
    return row * Shape::kPieces + (piece ^ (row % 2 * kOdd));
  };
  const auto weight_place = [&](int row, int piece) {
    return kRows * Shape::kPieces + (kQ8 ? row * Shape::kWeightPieces + piece : place(row, piece));
  };
  const auto copy = [&](int chunk) {
    uint4* const to = room + chunk % kStages * Shape::kStage;
#pragma unroll
    for (int i = 0; i < kRows * Shape::kPieces / kWideThreads; ++i) {
      const int row = (thread + i * kWideThreads) / Shape::kPieces, piece = thread % Shape::kPieces;
      const bool inside = first_n + row < call.n;
      const uint16_t* from = call.x + (inside ? first_n + row : 0) * call.padded_k + chunk * kChunk;
      gpu::copy_async(to + place(row, piece), from + 8 * piece, inside);
    }
#pragma unroll
    for (int i = 0; i < kOuts * Shape::kWeightPieces / kWideThreads; ++i) {
      const int row = (thread + i * kWideThreads) / Shape::kWeightPieces;
      const int piece = thread % Shape::kWeightPieces;
      const bool inside = first_out + row < call.rows;
      const int64_t at = (inside ? first_out + row : 0) * call.padded_k + chunk * kChunk;
      gpu::copy_async(to + weight_place(row, piece),
                      static_cast<const char*>(call.weight) + at * (kQ8 ? 1 : 2) + 16 * piece,
                      inside);
    }
  };

  // The warp's part of the tile.
  const int out = warp % 2 * 16 * kPanels, from = warp / 2 * 8 * kTiles;
  float acc[kPanels][kTiles][4] = {}, total[kPanels][kTiles][4] = {};
  const uint16_t* const scale = call.scales + (first_out + g) * chunks;
  const auto multiply = [&](int chunk) {
    const uint4* const xs = room + chunk % kStages * Shape::kStage;
    if constexpr (kQ8) {
      // Panels beyond the matrix read the scales of its first rows and write nothing.
      uint32_t scales[kPanels][2];
#pragma unroll
      for (int p = 0; p < kPanels; ++p) {
        const int o = first_out + out + 16 * p < call.rows ? out + 16 * p : 0;
#pragma unroll
        for (int high = 0; high < 2; ++high)
          scales[p][high] = scale[(o + 8 * high) * chunks + chunk];
      }
      uint4 b[2][kTiles];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile)
          b[half][tile] = xs[place(from + 8 * tile + g, 2 * t + half)];
      }
#pragma unroll
      for (int p = 0; p < kPanels; ++p) {
        float sum[kTiles][4] = {};
        multiply_bytes<kTiles>(sum, xs[weight_place(out + 16 * p + g, t)],
                               xs[weight_place(out + 16 * p + 8 + g, t)], b);
        add_scaled<kTiles>(acc[p], sum, scales[p][0], scales[p][1]);
      }
    } else {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        uint4 b[kTiles];
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile)
          b[tile] = xs[place(from + 8 * tile + g, 4 * half + t)];
#pragma unroll
        for (int p = 0; p < kPanels; ++p) {
          const uint4 top = xs[weight_place(out + 16 * p + g, 4 * half + t)];
          const uint4 bottom = xs[weight_place(out + 16 * p + 8 + g, 4 * half + t)];
#pragma unroll
          for (int tile = 0; tile < kTiles; ++tile) {
            gpu::mma_bf16(acc[p][tile], top.x, bottom.x, top.y, bottom.y, b[tile].x, b[tile].y);
            gpu::mma_bf16(acc[p][tile], top.z, bottom.z, top.w, bottom.w, b[tile].z, b[tile].w);
          }
        }
      }
    }
  };

#pragma unroll
  for (int i = 0; i < kStages - 1; ++i) {
    if (i < chunks) copy(i);
    gpu::commit_copies();
  }
  RangeEnds ends(chunks);
  for (int chunk = 0; chunk < chunks; ++chunk) {
    gpu::wait_copies<kStages - 2>();
    __syncthreads();  // also: no warp still reads the stage that is written next
    if (chunk + kStages - 1 < chunks) copy(chunk + kStages - 1);
    gpu::commit_copies();
    multiply(chunk);
    if (!ends.after(chunk)) continue;
#pragma unroll
    for (int p = 0; p < kPanels; ++p) {
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
        for (int i = 0; i < 4; ++i) total[p][tile][i] += acc[p][tile][i], acc[p][tile][i] = 0;
      }
    }
  }

  gpu::wait_copies<0>();
  __syncthreads();
  auto* const sums = reinterpret_cast<float*>(room);  // [kRows][kOutStride]
#pragma unroll
  for (int p = 0; p < kPanels; ++p) {
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
      for (int i = 0; i < 4; ++i)
        sums[(from + 8 * tile + 2 * t + i % 2) * Shape::kOutStride + out + 16 * p + g +
             8 * (i / 2)] = total[p][tile][i];
    }
  }
  __syncthreads();
  const bool gated = call.out.store == GemmOut::Store::kSiluGate;
  const int width = gated ? kOuts / 2 : kOuts;
  for (int e = thread; e < kRows * width; e += kWideThreads) {
    const int64_t n = first_n + e / width;
    const int o = gated ? e % width / 16 * 32 + e % 16 : e % width;
    if (n >= call.n || first_out + o >= call.rows) continue;
    const float* sum = sums + e / width * Shape::kOutStride + o;
    const auto row = static_cast<int>(first_out + o);
    if (gated) {
      put_gated(call.out, n, row, sum[0], sum[16]);
    } else {
      put(call.out, nullptr, n, row, sum[0]);
    }
  }
}

}  // namespace syrinx::cuda
