// f32 products without tensor cores: 64 x 64 outputs per block, 4 x 4 per thread. k is summed in
// order within stretches of 1024, and the sums of stretches are added in order. For products that
// must be f32: codecs, small heads.
#include "kernels/cuda/elementwise.cuh"
#include "kernels/cuda/gemm_out.cuh"
#include "kernels/cuda/matrix_layout.h"
#include "kernels/cuda/products.h"

namespace syrinx::cuda {
namespace {

constexpr int kSide = 64, kStep = 16, kThreads = 256, kEach = 4;
// Length of a row in shared memory, so that 16-byte reads have no bank conflicts.
constexpr int kStride = kSide + 4;

__device__ inline float weight_at(const TileCall& call, int64_t i) {
  return call.bf16 ? gpu::bf16_to_float(static_cast<const uint16_t*>(call.weight)[i])
                   : static_cast<const float*>(call.weight)[i];
}

struct Place {
  const TileCall::Segment* segment;
  int64_t first;  // index of the first row in the segment
};

__device__ inline Place find_tile(const TileCall& call, int64_t tile) {
  const TileCall::Segment* segment =
      call.segments + gpu::highest(0, call.segment_count - 1,
                                   [&](int s) { return call.segments[s].first_tile <= tile; });
  return {segment, (tile - segment->first_tile) * kTileRows};
}

// Grid: groups of 64 matrix rows; tiles of batch rows; stretches of k.
__global__ void __launch_bounds__(kThreads) tile_product(const __grid_constant__ TileCall call) {
  // Threads read 16 bytes at a time, but the compiler aligns float arrays to 4 bytes only.
  alignas(16) __shared__ float xs[kStep][kStride];
  alignas(16) __shared__ float ws[kStep][kStride];
  const int64_t first_row = int64_t{blockIdx.x} * kSide;
  const Place at = find_tile(call, blockIdx.y);
  const int64_t left = at.segment->rows - at.first;
  const int thread = static_cast<int>(threadIdx.x);
  const int tx = thread % 16, ty = thread / 16;
  const int64_t k_begin = int64_t{blockIdx.z} * kTileStretch;
  const int64_t k_end = k_begin + kTileStretch < call.k ? k_begin + kTileStretch : call.k;
  // A thread loads column `step` of rows lane, lane + 16, ... of both tiles.
  const int step = thread % kStep, lane = thread / kStep;
  const float* rows = at.segment->x + at.first * call.x_stride + call.x_offset;
  float acc[kEach][kEach] = {};
  for (int64_t k = k_begin; k < k_end; k += kStep) {
    const int64_t column = k + step;
    const bool inside = column < k_end;
    const RowColumn in_span = row_and_column(inside ? column : 0, call.span_len);
    const float* x = rows + in_span.row * call.span_step + in_span.column;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int r = lane + 16 * i;
      xs[step][r] = inside && r < left ? x[r * call.x_stride] : 0.f;
      const int64_t o = first_row + r;
      ws[step][r] = inside && o < call.rows ? weight_at(call, o * call.padded_k + column) : 0.f;
    }
    __syncthreads();
#pragma unroll
    for (int j = 0; j < kStep; ++j) {
      const float4 a = *reinterpret_cast<const float4*>(&xs[j][ty * kEach]);
      const float4 b = *reinterpret_cast<const float4*>(&ws[j][tx * kEach]);
      const float xa[kEach] = {a.x, a.y, a.z, a.w}, wb[kEach] = {b.x, b.y, b.z, b.w};
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
#pragma unroll
        for (int o = 0; o < kEach; ++o) acc[i][o] = fmaf(xa[i], wb[o], acc[i][o]);
      }
    }
    __syncthreads();
  }
  if (gridDim.z > 1) {
    const int64_t block = int64_t{blockIdx.y} * gridDim.x + blockIdx.x;
    float* partial = call.partial + block * gridDim.z * kSide * kSide;
    const auto place = [&](unsigned z, int i, int o) {
      return partial + z * (kSide * kSide) + (i * kEach + o) * kThreads + thread;
    };
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
#pragma unroll
      for (int o = 0; o < kEach; ++o) *place(blockIdx.z, i, o) = acc[i][o];
    }
    if (!gpu::last_to_arrive(call.counters + block, gridDim.z)) return;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
#pragma unroll
      for (int o = 0; o < kEach; ++o) {
        float total = gpu::load_shared_result(place(0, i, o));
        for (unsigned z = 1; z < gridDim.z; ++z) total += gpu::load_shared_result(place(z, i, o));
        acc[i][o] = total;
      }
    }
  }
  const bool gated = call.out.store == GemmOut::Store::kSiluGate;
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const int64_t n = at.first + ty * kEach + i;
#pragma unroll
    for (int o = 0; o < kEach; ++o) {
      const int row = static_cast<int>(first_row) + tx * kEach + o;
      // The rows of gate and up are 16 apart, so `up` is in the lane whose number is 4 higher.
      const float up = __shfl_sync(gpu::kFullWarp, acc[i][o], static_cast<int>(threadIdx.x) + 4);
      if (n >= at.segment->rows || row >= call.rows) continue;
      if (!gated) {
        put(call.out, at.segment->out, n, row, acc[i][o]);
      } else if (row % 32 < 16) {
        put_gated(call.out, n, row, acc[i][o], up);
      }
    }
  }
}

}  // namespace

void tile_gemm(StepContext& ctx, TileCall call) {
  const Arena::Mark mark(ctx.arena);
  const unsigned blocks = gpu::blocks_for(call.rows, kSide);
  const auto tiles = static_cast<unsigned>(call.tiles);
  const auto stretches = static_cast<unsigned>(tile_stretches(call.k));
  // Each block needs a counter. The counters suffice unless k is long and the batch very large.
  SYRINX_CHECK(tiles <= 65535, "[tile_gemm] too many tiles of rows for a grid: ", tiles);
  if (stretches > 1) {
    const int64_t count = int64_t{blocks} * tiles;
    SYRINX_CHECK(count <= KernelState::kCounters, "[tile_gemm] ", count,
                 " blocks, but the number of counters is ", KernelState::kCounters);
    call.partial = take<float>(ctx, count * stretches * kSide * kSide);
    call.counters = reinterpret_cast<unsigned*>(state_of(ctx).counters.i32());
  }
  gpu::launch("tile_gemm", tile_product, dim3(blocks, tiles, stretches), kThreads, 0,
              stream_of(ctx), call);
}

}  // namespace syrinx::cuda
