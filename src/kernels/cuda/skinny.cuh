// The product for small batches; reading the weights limits its speed. bf16 or 8-bit weights are
// loaded from memory into registers once, in 16-byte pieces, directly as tensor-core fragments.
// 8-bit weights are converted in registers. Weights do not pass through shared memory, so that many
// loads are in flight. A block of 8 warps computes 16 * kPanels outputs of up to 8 * kTiles rows.
// Each warp sums its own range of k, and the sums are added in order. A row's bits depend neither
// on kTiles nor on kPanels.
#pragma once

#include "kernels/cuda/gemm_out.cuh"
#include "kernels/cuda/matrix_layout.h"
#include "kernels/cuda/rms.cuh"
#include "kernels/cuda/widen.cuh"

namespace syrinx::cuda {

struct SkinnyMatrix {
  const void* weight = nullptr;      // [rows][padded_k]
  const uint16_t* scales = nullptr;  // for 8 bits: [rows][padded_k / 64] bf16
  int64_t rows = 0, padded_k = 0;
  int split = 1;
};

struct SkinnyRows {
  const uint16_t* x = nullptr;     // [n][padded_k] bf16
  const float* x_f32 = nullptr;    // if k is padded_k: [n][padded_k], replaces x or is normed to x
  GemmNorm norm;                   // of x_f32
  uint16_t* normed = nullptr;      // x, if the blocks share the norms of x_f32
  unsigned* norm_state = nullptr;  // with `normed`: of the launch, zero before and after it
  int64_t n = 0;
};

struct SkinnyCall : SkinnyMatrix, SkinnyRows {
  float* partial = nullptr;  // if split > 1: [blocks][split][kPanels * 16 * 8 * kTiles]
  unsigned* counters = nullptr;
  GemmOut out;
  bool prefetch = false;  // the block waits before it needs its weights
};

/// The activations of a product: call.x, or call.x_f32, or its norm in shared memory.
enum class Input : uint8_t { kBf16, kF32, kNormed };

/// Loads the eight bf16 activations k .. k + 7 of row n; returns zeros for rows beyond the batch.
template <Input kInput>
__device__ inline uint4 load_x(const SkinnyCall& call, int64_t n, int64_t k) {
  if (n >= call.n) return uint4{0, 0, 0, 0};
  if constexpr (kInput == Input::kNormed) {
    const uint16_t* rows = gpu::dynamic_shared<uint16_t>();
    return *reinterpret_cast<const uint4*>(rows + n * normed_stride(call.padded_k) + k);
  } else if constexpr (kInput == Input::kF32) {
    const auto* at = reinterpret_cast<const float4*>(call.x_f32 + n * call.padded_k + k);
    const float4 a = at[0], b = at[1];
    return uint4{gpu::pack_bf16(a.x, a.y), gpu::pack_bf16(a.z, a.w), gpu::pack_bf16(b.x, b.y),
                 gpu::pack_bf16(b.z, b.w)};
  } else {
    return *reinterpret_cast<const uint4*>(call.x + n * call.padded_k + k);
  }
}

/// Writes the norms of the rows [first, first + count) of x_f32, rounded, `stride` numbers apart.
/// `factor`: room for a number per row; at most kSkinnyWarps rows.
__device__ inline void norm_rows(const SkinnyRows& rows, int64_t width, int64_t first,
                                 int64_t count, uint16_t* to, int64_t stride, float* factor) {
  constexpr int64_t kEach = 8, kStep = kEach * 32 * kSkinnyWarps;  // columns of a thread, a block
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const float* x = rows.x_f32 + first * width;
  int64_t k = kEach * threadIdx.x;
  float4 a{}, b{};  // weights; the first ones are loaded before the sums
  const auto load = [&] {
    if (k >= width) return;
    const auto* at = reinterpret_cast<const float4*>(rows.norm.weight + k);
    a = at[0], b = at[1];
  };
  load();
  if (warp < count) {  // all threads of the warp take the same branch
    const float squares = sum_of_squares(x + warp * width, width);
    if (threadIdx.x % 32 == 0) factor[warp] = rms_factor(squares, width, rows.norm.eps);
  }
  __syncthreads();
  for (; k < width; k += kStep, load()) {
    for (int64_t n = 0; n < count; ++n) {
      const auto* at = reinterpret_cast<const float4*>(x + n * width + k);
      const float4 c = at[0], d = at[1];
      const float f = factor[n];
      *reinterpret_cast<uint4*>(to + n * stride + k) =
          uint4{gpu::pack_bf16(c.x * f * a.x, c.y * f * a.y),
                gpu::pack_bf16(c.z * f * a.z, c.w * f * a.w),
                gpu::pack_bf16(d.x * f * b.x, d.y * f * b.y),
                gpu::pack_bf16(d.z * f * b.z, d.w * f * b.w)};
    }
  }
  __syncthreads();
}

/// Returns the first matrix row of panel `p` of this block. A panel beyond the matrix reads the
/// last panel and writes nothing.
template <int kPanels>
__device__ inline int64_t panel_row(const SkinnyMatrix& w, int p) {
  const int64_t wanted = int64_t{blockIdx.y} * 16 * kPanels + 16 * p;
  return wanted < w.rows ? wanted : w.rows - 16;
}

/// Begins to move the weights of this block to the second-level cache.
template <int kPanels, bool kQ8>
__device__ inline void prefetch_weights(const SkinnyMatrix& w) {
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int range = static_cast<int>(blockIdx.z) * kSkinnyWarps + warp;
  const int ranges = w.split * kSkinnyWarps;
  const int64_t chunks = w.padded_k / kChunk;
  const int end = range_begin(chunks, range + 1, ranges);
  for (int chunk = range_begin(chunks, range, ranges) + lane / 16; chunk < end; chunk += 2) {
#pragma unroll
    for (int p = 0; p < kPanels; ++p) {
      const int64_t at = (panel_row<kPanels>(w, p) + lane % 16) * w.padded_k + kChunk * chunk;
      gpu::prefetch(static_cast<const char*>(w.weight) + at * (kQ8 ? 1 : 2));
    }
  }
}

/// Norms the rows of x_f32 to x.normed, in the first blocks, and waits for them. A block that
/// would wait too long norms all rows itself, so no block needs another one to run. The upper half
/// of *norm_state has a bit for each norming block, the lower half counts the blocks that have
/// all rows. The last of these makes it zero. Not inlined, so that the kernel's loop is compiled as
/// without it. The arguments are values, because this function would read the kernel's slower.
__device__ __attribute__((noinline)) inline void share_norms(SkinnyRows x, int64_t width,
                                                             float* factor) {
  constexpr unsigned kFirst = 1u << (32 - kNormingBlocks), kAll = 0u - kFirst;
  __shared__ bool complete;
  const unsigned blocks = gridDim.x * gridDim.y * gridDim.z;
  const unsigned block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  RowRange rows = normed_rows(x.n, blocks, block);
  // The last norming block also sets the bits of those that are not there.
  unsigned bits = rows.begin == rows.end ? 0 : (rows.end == x.n ? kAll : kFirst) << block;
  do {
    for (int64_t row = rows.begin; row < rows.end; row += kSkinnyWarps) {
      const int64_t left = rows.end - row;
      norm_rows(x, width, row, left < kSkinnyWarps ? left : kSkinnyWarps, x.normed + row * width,
                width, factor);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();  // only thread 0 needs a fence here and in wait_for(): see last_to_arrive()
      if (bits) atomicOr(x.norm_state, bits);
      complete = gpu::wait_for(x.norm_state, kAll);
    }
    __syncthreads();
    rows = {0, x.n};
    bits = kAll;
  } while (!complete);
  if (threadIdx.x == 0) atomicAdd(x.norm_state, block == 0 ? kFirst - blocks + 1 : 1u);
}

/// The loads of a warp for one chunk of k (64). Lane 4g + t reads rows g and g + 8: with bf16
/// weights, numbers 8t .. 8t + 7 of both halves of the chunk; with 8 bits, numbers 16t .. 16t + 15.
/// With 8 bits, a chunk is one group of the scales.
template <int kTiles, int kPanels, bool kQ8, Input kInput>
struct Chunk {
  static constexpr int kHalves = kQ8 ? 1 : 2;
  uint4 low[kHalves][kPanels], high[kHalves][kPanels], x[2][kTiles];
  uint32_t scale_low[kPanels], scale_high[kPanels];  // bf16; used with 8 bits only

  __device__ void load(const SkinnyCall& call, const int64_t (&row)[kPanels], int64_t first_n,
                       int64_t chunk, int g, int t) {
    const int64_t k = chunk * kChunk;
#pragma unroll
    for (int half = 0; half < kHalves; ++half) {
#pragma unroll
      for (int p = 0; p < kPanels; ++p) {
        const int64_t at = (row[p] + g) * call.padded_k + k + (kQ8 ? 16 * t : 32 * half + 8 * t);
        const auto* w = static_cast<const char*>(call.weight) + at * (kQ8 ? 1 : 2);
        const int64_t below = 8 * call.padded_k * (kQ8 ? 1 : 2);
        low[half][p] = gpu::load_streaming(reinterpret_cast<const uint4*>(w));
        high[half][p] = gpu::load_streaming(reinterpret_cast<const uint4*>(w + below));
      }
    }
    if constexpr (kQ8) {
      const int64_t groups = call.padded_k / kChunk;
#pragma unroll
      for (int p = 0; p < kPanels; ++p) {
        const uint16_t* s = call.scales + (row[p] + g) * groups + chunk;
        scale_low[p] = s[0];
        scale_high[p] = s[8 * groups];
      }
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int64_t at = k + (kQ8 ? 16 * t + 8 * half : 32 * half + 8 * t);
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile)
        x[half][tile] = load_x<kInput>(call, first_n + 8 * tile + g, at);
    }
  }

  __device__ void add_to(float (&acc)[kPanels][kTiles][4]) const {
    if constexpr (kQ8) {
#pragma unroll
      for (int p = 0; p < kPanels; ++p) {
        float sum[kTiles][4] = {};
        multiply_bytes<kTiles>(sum, low[0][p], high[0][p], x);
        add_scaled<kTiles>(acc[p], sum, scale_low[p], scale_high[p]);
      }
    } else {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile) {
          const uint4 b = x[half][tile];
#pragma unroll
          for (int p = 0; p < kPanels; ++p) {
            const uint4 top = low[half][p], bottom = high[half][p];
            gpu::mma_bf16(acc[p][tile], top.x, bottom.x, top.y, bottom.y, b.x, b.y);
            gpu::mma_bf16(acc[p][tile], top.z, bottom.z, top.w, bottom.w, b.z, b.w);
          }
        }
      }
    }
  }
};

/// The chunks that a warp loads at the same time. The registers are limited to 128, so that two
/// blocks share a multiprocessor: one block loads while the other joins its ranges.
template <int kTiles, int kPanels>
constexpr int kChunksAtOnce = kPanels == 1 && kTiles == 1   ? 3
                              : kPanels == 1 && kTiles == 2 ? 2
                                                            : 1;

/// Grid: tiles of 8 * kTiles batch rows, so that blocks that share weights run together; blocks of
/// kPanels panels of the matrix; split.
template <int kTiles, int kPanels, bool kQ8, Input kInput>
__global__ void __launch_bounds__(32 * kSkinnyWarps, kTiles* kPanels <= 4 ? 2 : 1)
    skinny(const __grid_constant__ SkinnyCall call) {
  constexpr int kRows = 8 * kTiles;      // batch rows per block
  constexpr int kElements = 16 * kRows;  // elements per panel
  constexpr int kThreads = 32 * kSkinnyWarps;
  constexpr int kOwn = (kElements + kThreads - 1) / kThreads;  // elements per thread and panel
  constexpr int kAtOnce = kChunksAtOnce<kTiles, kPanels>;
  // Batch rows of a panel are kStride apart, so that the lanes of a warp write to 32 different
  // banks.
  constexpr int kStride = 20;
  __shared__ float room[kSkinnyWarps][kRows * kStride];

  gpu::allow_next();
  if (call.prefetch) prefetch_weights<kPanels, kQ8>(call);
  gpu::wait_for_earlier();
  if constexpr (kInput == Input::kNormed) {
    norm_rows(call, call.padded_k, 0, call.n, gpu::dynamic_shared<uint16_t>(),
              normed_stride(call.padded_k), room[0]);
  } else if (kInput == Input::kBf16 && call.normed) {
    share_norms(call, call.padded_k, room[0]);
  }
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int g = lane / 4, t = lane % 4;
  const int64_t first_row = int64_t{blockIdx.y} * 16 * kPanels;
  const int64_t first_n = int64_t{blockIdx.x} * kRows;
  int64_t row[kPanels];
#pragma unroll
  for (int p = 0; p < kPanels; ++p) row[p] = panel_row<kPanels>(call, p);
  float acc[kPanels][kTiles][4] = {};
  const int64_t chunks = call.padded_k / kChunk;
  const int range = static_cast<int>(blockIdx.z) * kSkinnyWarps + warp;
  const int ranges = call.split * kSkinnyWarps;
  const int end = range_begin(chunks, range + 1, ranges);
  for (int chunk = range_begin(chunks, range, ranges); chunk < end; chunk += kAtOnce) {
    Chunk<kTiles, kPanels, kQ8, kInput> part[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i)
      part[i].load(call, row, first_n, chunk + i < end ? chunk + i : end - 1, g, t);
    // Keeps the loads together. Otherwise the compiler would move each load to its use.
    __syncwarp();
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      if (chunk + i < end) part[i].add_to(acc);
    }
  }

  // Element e of a panel is matrix row e % 16 and batch row e / 16. A thread has elements with
  // equal numbers in all panels.
  float sums[kPanels][kOwn];
#pragma unroll
  for (int p = 0; p < kPanels; ++p) {
    __syncthreads();
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
      for (int i = 0; i < 4; ++i)
        room[warp][(8 * tile + 2 * t + i % 2) * kStride + g + 8 * (i / 2)] = acc[p][tile][i];
    }
    __syncthreads();
#pragma unroll
    for (int own = 0; own < kOwn; ++own) {
      const int e = own * kThreads + static_cast<int>(threadIdx.x);
      sums[p][own] = 0;
      if (e >= kElements) continue;
      const int at = e / 16 * kStride + e % 16;
      float total = room[0][at];
      for (int w = 1; w < kSkinnyWarps; ++w) total += room[w][at];
      sums[p][own] = total;
    }
  }
  if (call.split > 1) {
    const int64_t block = int64_t{blockIdx.y} * gridDim.x + blockIdx.x;
    float* partial = call.partial + block * call.split * kPanels * kElements;
    const auto place = [&](int s, int p, int e) { return (s * kPanels + p) * kElements + e; };
#pragma unroll
    for (int p = 0; p < kPanels; ++p) {
#pragma unroll
      for (int own = 0; own < kOwn; ++own) {
        const int e = own * kThreads + static_cast<int>(threadIdx.x);
        if (e < kElements) partial[place(static_cast<int>(blockIdx.z), p, e)] = sums[p][own];
      }
    }
    if (!gpu::last_to_arrive(call.counters + block, static_cast<unsigned>(call.split))) return;
#pragma unroll
    for (int p = 0; p < kPanels; ++p) {
#pragma unroll
      for (int own = 0; own < kOwn; ++own) {
        const int e = own * kThreads + static_cast<int>(threadIdx.x);
        if (e >= kElements) continue;
        float total = gpu::load_shared_result(partial + place(0, p, e));
        for (int s = 1; s < call.split; ++s)
          total += gpu::load_shared_result(partial + place(s, p, e));
        sums[p][own] = total;
      }
    }
  }
#pragma unroll
  for (int own = 0; own < kOwn; ++own) {
    const int e = own * kThreads + static_cast<int>(threadIdx.x);
    const int64_t n = first_n + e / 16;
    if (e >= kElements || n >= call.n) continue;
#pragma unroll
    for (int p = 0; p < kPanels; ++p) {
      const int64_t matrix_row = first_row + 16 * p + e % 16;
      if (matrix_row >= call.rows) continue;
      if (call.out.store != GemmOut::Store::kSiluGate) {
        put(call.out, nullptr, n, static_cast<int>(matrix_row), sums[p][own]);
      } else if (kPanels % 2 == 0 && p % 2 == 0) {
        put_gated(call.out, n, static_cast<int>(matrix_row), sums[p][own],
                  sums[(p + 1) % kPanels][own]);
      }
    }
  }
}

}  // namespace syrinx::cuda
