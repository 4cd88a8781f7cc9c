// Experts: chooses those of each row, groups the rows by expert in tiles, and multiplies each tile
// by its expert's matrices. The grids have blocks for the most uneven choice; blocks without a tile
// end at once. Products with weights of bf16 and 8 bits use the tensor cores as skinny.cuh does.
// Those in f32 serve tests: no thread shares its loads.
#include "kernels/cuda/products.h"
#include "kernels/cuda/skinny.cuh"
#include "kernels/experts.h"

namespace syrinx::cuda {
namespace {

constexpr int64_t kMostRows = 1024;  // rows of a pass; the scratch memory of more would be large

/// Rows of one expert: the slots [first, first + count). A slot is a row for one of its experts.
struct ExpertTile {
  int expert, first, count;
};

struct Routes {
  const float* logits;  // [rows, experts]
  int32_t* chosen;      // [rows, top_k], ascending
  float* weights;       // [rows, top_k]
  int32_t* places;      // [rows, top_k], the slots
  int32_t* row_of;      // [slots]
  ExpertTile* tiles;    // [most_tiles]; those at the end are empty
  int64_t rows;
  int experts, top_k, tile_rows, most_tiles;
  bool normalised;
};

constexpr int kChoosingWarps = 4;

/// Returns a logit for comparisons. NaN counts as infinity, because all lanes must find the same
/// expert. The row's weights are then NaN.
__device__ inline float ordered(float logit) { return logit == logit ? logit : INFINITY; }

/// One warp per row. Lane j remembers the choice with the jth highest logit.
__global__ void __launch_bounds__(32 * kChoosingWarps) choose(const __grid_constant__ Routes r) {
  const int64_t row = int64_t{blockIdx.x} * kChoosingWarps + threadIdx.x / 32;
  if (row >= r.rows) return;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const float* logits = r.logits + row * r.experts;
  uint32_t taken = 0;  // bit i: expert 32 i + lane
  int mine = 0;
  float weight = 0, top = 0;
  for (int j = 0; j < r.top_k; ++j) {
    float best = 0;
    int at = r.experts;
    for (int e = lane; e < r.experts; e += 32) {
      const float logit = ordered(logits[e]);
      if (taken >> (e / 32) & 1 || (at < r.experts && logit <= best)) continue;
      best = logit;
      at = e;
    }
    for (int step = 16; step > 0; step /= 2) {
      const float other = __shfl_xor_sync(gpu::kFullWarp, best, step);
      const int there = __shfl_xor_sync(gpu::kFullWarp, at, step);
      if (there == r.experts || (at < r.experts && (other < best || (other == best && there > at))))
        continue;
      best = other;
      at = there;
    }
    if (j == 0) top = best;
    if (at % 32 == lane) taken |= 1u << (at / 32);
    if (j == lane) mine = at, weight = expf(best - top);
  }
  int rank = 0;
  float sum = 0;
  for (int j = 0; j < r.top_k; ++j) {
    rank += __shfl_sync(gpu::kFullWarp, mine, j) < mine ? 1 : 0;
    sum += __shfl_sync(gpu::kFullWarp, weight, j);
  }
  if (!r.normalised) {
    sum = 0;
    for (int e = lane; e < r.experts; e += 32) sum += expf(logits[e] - top);
    sum = gpu::warp_sum(sum);
  }
  if (lane >= r.top_k) return;
  r.chosen[row * r.top_k + rank] = mine;
  r.weights[row * r.top_k + rank] = weight / sum;
}

/// One block, with a thread per expert.
__global__ void __launch_bounds__(1024) group_rows(const __grid_constant__ Routes r) {
  __shared__ int slots[1025], tiles[1025];  // sums over the experts before this one
  const int expert = static_cast<int>(threadIdx.x);
  const int entries = static_cast<int>(r.rows) * r.top_k;
  int count = 0;
  for (int i = 0; i < entries; ++i) count += r.chosen[i] == expert ? 1 : 0;
  slots[expert + 1] = count;
  __syncthreads();
  if (expert == 0) {
    slots[0] = tiles[0] = 0;
    for (int e = 1; e <= static_cast<int>(blockDim.x); ++e) {
      tiles[e] = tiles[e - 1] + (slots[e] + r.tile_rows - 1) / r.tile_rows;
      slots[e] += slots[e - 1];
    }
  }
  __syncthreads();
  int slot = slots[expert];
  for (int i = 0; count > 0 && i < entries; ++i) {
    if (r.chosen[i] != expert) continue;
    r.places[i] = slot;
    r.row_of[slot++] = i / r.top_k;
  }
  ExpertTile* own = r.tiles + tiles[expert];
  for (int at = 0; at < count; at += r.tile_rows)
    *own++ = {expert, slots[expert] + at, count - at < r.tile_rows ? count - at : r.tile_rows};
  for (int t = tiles[blockDim.x] + expert; t < r.most_tiles; t += static_cast<int>(blockDim.x))
    r.tiles[t] = {0, 0, 0};
}

struct GatherRounded {
  const float* x;
  const int32_t* row_of;
  uint16_t* to;
  int64_t k, padded_k;
  __device__ void operator()(int64_t i) const {
    const RowColumn at = row_and_column(i, padded_k);
    to[i] = at.column < k ? gpu::float_to_bf16(x[row_of[at.row] * k + at.column]) : uint16_t{0};
  }
};

/// A product of each slot with the matrix of its expert.
struct GroupedCall {
  const void* const* weights;  // [experts]
  const ExpertTile* tiles;
  const uint16_t* x;      // [slots, padded_k], for weights of bf16 and 8 bits
  const float* x_f32;     // [.., k], for weights of f32
  const int32_t* row_of;  // [slots]: rows of x_f32; null: slots are rows
  int64_t matrix_rows, k, padded_k;
  GemmOut out;  // its single part has the first slot's numbers
};

__device__ inline void put_slot(const GroupedCall& call, int64_t slot, int row, float sum,
                                float next) {
  if (call.out.store != GemmOut::Store::kSiluGate) {
    put(call.out, nullptr, slot, row, sum);
  } else if (row % 32 < 16) {
    put_gated(call.out, slot, row, sum, next);
  }
}

/// Grid: tiles; pairs of panels of the matrix.
template <int kTiles, bool kQ8>
__global__ void __launch_bounds__(32 * kSkinnyWarps, kTiles == 1 ? 2 : 1)
    grouped(const __grid_constant__ GroupedCall call) {
  constexpr int kPanels = 2, kRows = 8 * kTiles, kElements = 16 * kRows, kStride = 20;
  constexpr int kThreads = 32 * kSkinnyWarps;
  __shared__ float room[kSkinnyWarps][kPanels * kRows * kStride];
  const ExpertTile tile = call.tiles[blockIdx.x];
  if (tile.count == 0) return;
  SkinnyCall own;
  own.weight = call.weights[tile.expert];
  own.rows = call.matrix_rows;
  own.padded_k = call.padded_k;
  own.scales = reinterpret_cast<const uint16_t*>(static_cast<const char*>(own.weight) +
                                                 own.rows * own.padded_k);
  own.x = call.x + tile.first * call.padded_k;
  own.n = tile.count;
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int g = lane / 4, t = lane % 4;
  const int64_t row[kPanels] = {panel_row<kPanels>(own, 0), panel_row<kPanels>(own, 1)};
  float acc[kPanels][kTiles][4] = {};
  const int64_t chunks = own.padded_k / kChunk;
  const int end = range_begin(chunks, warp + 1, kSkinnyWarps);
  for (int chunk = range_begin(chunks, warp, kSkinnyWarps); chunk < end; ++chunk) {
    Chunk<kTiles, kPanels, kQ8, Input::kBf16> part;
    part.load(own, row, 0, chunk, g, t);
    __syncwarp();  // keeps the loads together
    part.add_to(acc);
  }
#pragma unroll
  for (int p = 0; p < kPanels; ++p) {
#pragma unroll
    for (int i = 0; i < 4 * kTiles; ++i)
      room[warp][(p * kRows + i / 4 * 8 + 2 * t + i % 2) * kStride + g + 8 * (i % 4 / 2)] =
          acc[p][i / 4][i % 4];
  }
  __syncthreads();
  for (int e = static_cast<int>(threadIdx.x); e < kElements; e += kThreads) {
    const int n = e / 16;
    if (n >= tile.count) continue;
    float sums[kPanels];
    for (int p = 0; p < kPanels; ++p) {
      const int at = (p * kRows + n) * kStride + e % 16;
      sums[p] = room[0][at];
      for (int w = 1; w < kSkinnyWarps; ++w) sums[p] += room[w][at];
    }
    for (int p = 0; p < kPanels; ++p) {
      const int64_t matrix_row = int64_t{blockIdx.y} * 16 * kPanels + 16 * p + e % 16;
      if (matrix_row < call.matrix_rows)
        put_slot(call, tile.first + n, static_cast<int>(matrix_row), sums[p], sums[1]);
    }
  }
}

/// Grid: tiles; groups of 32 matrix rows. A warp has a slot, a lane a matrix row.
__global__ void __launch_bounds__(256) grouped_f32(const __grid_constant__ GroupedCall call) {
  const ExpertTile tile = call.tiles[blockIdx.x];
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int64_t row = int64_t{blockIdx.y} * 32 + lane;
  const int64_t matrix_row = row < call.matrix_rows ? row : call.matrix_rows - 1;
  for (int n = warp; n < tile.count; n += 8) {
    const int64_t slot = tile.first + n;
    const float* x = call.x_f32 + (call.row_of ? call.row_of[slot] : slot) * call.k;
    const float* w =
        static_cast<const float*>(call.weights[tile.expert]) + matrix_row * call.padded_k;
    float sum = 0;
    for (int64_t k = 0; k < call.k; ++k) sum = fmaf(x[k], w[k], sum);
    const float next = __shfl_sync(gpu::kFullWarp, sum, lane + 16);
    if (row < call.matrix_rows) put_slot(call, slot, static_cast<int>(row), sum, next);
  }
}

struct AddMixed {
  const float *mixed, *weights;
  const int32_t* places;
  float* out;
  int64_t width;
  int top_k;
  __device__ void operator()(int64_t i) const {
    const RowColumn at = row_and_column(i, width);
    float sum = out[i];
    for (int64_t j = at.row * top_k; j < (at.row + 1) * top_k; ++j)
      sum += weights[j] * mixed[places[j] * width + at.column];
    out[i] = sum;
  }
};

template <bool kQ8>
void run_rounded(StepContext& ctx, const Routes& r, const GroupedCall& call) {
  const dim3 grid(static_cast<unsigned>(r.most_tiles), gpu::blocks_for(call.matrix_rows, 32));
  if (r.tile_rows == 8) {
    gpu::launch("grouped", grouped<1, kQ8>, grid, 32 * kSkinnyWarps, 0, stream_of(ctx), call);
  } else {
    gpu::launch("grouped", grouped<4, kQ8>, grid, 32 * kSkinnyWarps, 0, stream_of(ctx), call);
  }
}

void run_grouped(StepContext& ctx, const Routes& r, WeightType type, const GroupedCall& call) {
  if (type == WeightType::kQ8) return run_rounded<true>(ctx, r, call);
  if (type != WeightType::kF32) return run_rounded<false>(ctx, r, call);
  const dim3 grid(static_cast<unsigned>(r.most_tiles), gpu::blocks_for(call.matrix_rows, 32));
  gpu::launch("grouped_f32", grouped_f32, grid, 256, 0, stream_of(ctx), call);
}

Routes route(StepContext& ctx, const View& logits, int top_k, bool normalised) {
  Routes r{};
  r.rows = logits.shape[0];
  r.experts = static_cast<int>(logits.shape[1]);
  const int64_t slots = r.rows * top_k;
  r.logits = logits.f32();
  r.chosen = take<int32_t>(ctx, slots);
  r.weights = take<float>(ctx, slots);
  r.places = take<int32_t>(ctx, slots);
  r.row_of = take<int32_t>(ctx, slots);
  r.top_k = top_k;
  r.normalised = normalised;
  r.tile_rows = slots <= 8 * r.experts ? 8 : 32;
  // Each expert that is in use has at most one tile that is not full.
  r.most_tiles = static_cast<int>(slots / r.tile_rows + std::min<int64_t>(slots, r.experts));
  r.tiles = take<ExpertTile>(ctx, r.most_tiles);
  gpu::launch("choose_experts", choose, gpu::blocks_for(r.rows, kChoosingWarps),
              32 * kChoosingWarps, 0, stream_of(ctx), r);
  gpu::launch("group_rows", group_rows, 1, static_cast<unsigned>((r.experts + 31) / 32 * 32), 0,
              stream_of(ctx), r);
  return r;
}

void add_some(StepContext& ctx, const ExpertTable& table, const View& x, const View& logits,
              int top_k, bool normalised, const View& out) {
  const Arena::Mark mark(ctx.arena);
  const ExpertTable::Matrices &up = table.up(), &down = table.down();
  const auto* addresses = static_cast<const void* const*>(table.addresses().data);
  const Routes r = route(ctx, logits, top_k, normalised);
  const int64_t slots = r.rows * top_k;

  GroupedCall call{};
  call.tiles = r.tiles;
  call.weights = addresses;
  call.matrix_rows = up.rows, call.k = up.k, call.padded_k = matrix_padded_k(up.k);
  if (up.type == WeightType::kF32) {
    call.x_f32 = x.f32();
    call.row_of = r.row_of;
  } else {
    auto* to = take<uint16_t>(ctx, slots * call.padded_k);
    for_each(ctx, "gather_rounded", slots * call.padded_k,
             GatherRounded{x.f32(), r.row_of, to, up.k, call.padded_k});
    call.x = to;
  }
  const bool rounded = down.type != WeightType::kF32 && down.k % kChunk == 0;
  const View inner = ctx.arena.take({slots, down.k}, rounded ? DType::kBF16 : DType::kF32);
  call.out.parts[0] = {0, static_cast<int>(down.k), static_cast<float*>(inner.data), down.k, 0};
  call.out.count = 1;
  call.out.store = GemmOut::Store::kSiluGate;
  call.out.rounded = rounded;
  run_grouped(ctx, r, up.type, call);

  const View mixed = ctx.arena.take({slots, up.k}, DType::kF32);
  call.weights = addresses + table.experts();
  call.matrix_rows = down.rows, call.k = down.k, call.padded_k = matrix_padded_k(down.k);
  call.row_of = nullptr;
  if (down.type == WeightType::kF32) {
    call.x_f32 = inner.f32();
  } else {
    call.x = rounded ? inner.bf16() : round_to_bf16(ctx, inner, call.padded_k);
  }
  call.out.parts[0] = {0, static_cast<int>(up.k), mixed.f32(), up.k, 0};
  call.out.store = GemmOut::Store::kSet;
  call.out.rounded = false;
  run_grouped(ctx, r, down.type, call);
  for_each(ctx, "add_mixed", r.rows * up.k,
           AddMixed{mixed.f32(), r.weights, r.places, out.f32(), up.k, top_k});
}

}  // namespace

void add_experts(StepContext& ctx, const ExpertTable& table, const View& x, const View& logits,
                 int top_k, bool normalised, const View& out) {
  for (int64_t begin = 0; begin < x.shape[0]; begin += kMostRows) {
    const int64_t end = std::min(begin + kMostRows, x.shape[0]);
    add_some(ctx, table, x.slice(begin, end), logits.slice(begin, end), top_k, normalised,
             out.slice(begin, end));
  }
}

}  // namespace syrinx::cuda
