// Paged attention. A block of four warps processes up to kVectors query vectors (rows of one
// sequence times the heads of one kv head) and a group of four pages, one page per warp. In
// decoding, the groups are distributed over blocks, and the last block of a row joins their
// results. In prefill, one block processes the groups one by one and joins results in between: the
// same sums in the same order. Reading the cache, once and in 16-byte pieces, limits the speed.
#pragma once

#include "kernels/attention_impl.h"
#include "kernels/cuda/attention_call.h"
#include "kernels/cuda/attention_order.h"
#include "kernels/cuda/elementwise.cuh"
#include "kernels/cuda/state.h"

namespace syrinx::cuda {

constexpr int kWarps = kGroupPages, kThreads = 32 * kWarps, kMaxDim = AttentionTile::kMaxDim;

/// Sixteen bytes of a cache of 8 or 16 bits, or eight numbers of 32 bits, as loaded. A load and its
/// use are separate functions, because otherwise the compiler would wait for each load.
template <DType kType>
struct Raw {
  uint4 words;
  __device__ void load(const char* part, int64_t at) {  // `at`: offset in bytes, a multiple of 16
    words = gpu::load_streaming(reinterpret_cast<const uint4*>(part + at));
  }
  /// Converts eight numbers of 16 bits.
  __device__ void widen(float (&out)[8]) const {
    const uint32_t all[4] = {words.x, words.y, words.z, words.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if constexpr (kType == DType::kBF16) {
        out[2 * i] = gpu::bf16_to_float(all[i] & 0xffff);
        out[2 * i + 1] = gpu::bf16_to_float(all[i] >> 16);
      } else {
        out[2 * i] = gpu::f16_to_float(static_cast<uint16_t>(all[i] & 0xffff));
        out[2 * i + 1] = gpu::f16_to_float(static_cast<uint16_t>(all[i] >> 16));
      }
    }
  }
  /// Converts eight pairs of numbers of 8 bits.
  __device__ void widen_pairs(float (&first)[8], float (&second)[8]) const {
    const uint32_t all[4] = {words.x, words.y, words.z, words.w};
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const uint32_t pair = all[i / 2] >> (16 * (i % 2));
      first[i] = static_cast<float>(static_cast<int8_t>(pair & 0xff));
      second[i] = static_cast<float>(static_cast<int8_t>(pair >> 8 & 0xff));
    }
  }
};

template <>
struct Raw<DType::kF32> {
  float4 low, high;
  __device__ void load(const char* part, int64_t at) {
    const auto* from = reinterpret_cast<const float4*>(part + at);
    low = from[0], high = from[1];
  }
  __device__ void widen(float (&out)[8]) const {
    out[0] = low.x, out[1] = low.y, out[2] = low.z, out[3] = low.w;
    out[4] = high.x, out[5] = high.y, out[6] = high.z, out[7] = high.w;
  }
};

/// The number of loads of a lane that are in flight together.
template <DType kType>
constexpr int kInFlight = kType == DType::kF32 ? 4 : 8;

/// Bytes per number of the cache.
template <DType kType>
constexpr int kNumberBytes = kType == DType::kF32  ? 4
                             : kType == DType::kI8 ? 1
                                                   : 2;

/// A softmax over some positions: largest score, sum of the weights, weighted sum of one column.
struct Partial {
  float top = -INFINITY, total = 0, mix = 0;
};

/// Joins the result `b` of later positions to the result `a` of earlier positions. An empty result
/// (total 0) has no effect.
__device__ inline void join(Partial& a, const Partial& b) {
  if (b.total == 0) return;
  if (a.total == 0) {
    a = b;
    return;
  }
  const float top = fmaxf(a.top, b.top);
  const float keep = expf(a.top - top), take = expf(b.top - top);
  a.total = fmaf(b.total, take, a.total * keep);
  a.mix = fmaf(b.mix, take, a.mix * keep);
  a.top = top;
}

template <int kVectors>
struct Room {
  float q[kVectors][kMaxDim];
  float weight[kWarps][kVectors][kPage];
  float mix[kWarps][kVectors][kMaxDim];
  float top[kWarps][kVectors], total[kWarps][kVectors];
  int64_t first[kVectors], last[kVectors];
};

/// Computes the score of this lane's position for every query vector, not yet scaled.
template <int kVectors, DType kType>
__device__ inline void scores(const AttentionCall& call, const char* keys,
                              const Room<kVectors>& room, int lane, float (&score)[kVectors]) {
  float s[kVectors][8] = {};
  constexpr int kLoads = kInFlight<kType>;
  constexpr int kDims = kType == DType::kI8 ? 2 : 1;  // numbers of a position stored together
  const int64_t column = lane % 4 * 8;
  const int rows = call.dim / kDims;
  for (int d0 = lane / 4; d0 < rows; d0 += 8 * kLoads) {
    Raw<kType> raw[kLoads];
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int d = d0 + 8 * i < rows ? d0 + 8 * i : d0;
      raw[i].load(keys, (int64_t{d} * kPage + column) * kDims * kNumberBytes<kType>);
    }
    __syncwarp();
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int d = d0 + 8 * i;
      if (d >= rows) continue;
      if constexpr (kType == DType::kI8) {
        float k0[8], k1[8];
        raw[i].widen_pairs(k0, k1);
#pragma unroll
        for (int v = 0; v < kVectors; ++v) {
          const float q0 = room.q[v][2 * d], q1 = room.q[v][2 * d + 1];
#pragma unroll
          for (int j = 0; j < 8; ++j) s[v][j] = fmaf(q1, k1[j], fmaf(q0, k0[j], s[v][j]));
        }
      } else {
        float k[8];
        raw[i].widen(k);
#pragma unroll
        for (int v = 0; v < kVectors; ++v) {
          const float q = room.q[v][d];
#pragma unroll
          for (int j = 0; j < 8; ++j) s[v][j] = fmaf(q, k[j], s[v][j]);
        }
      }
    }
  }
  // Halves the positions three times: each lane keeps one half and sends the other half.
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
#pragma unroll
    for (int half = 4; half > 0; half /= 2) {
      const int mask = 4 * half;
      const bool upper = (lane & mask) != 0;
#pragma unroll
      for (int j = 0; j < half; ++j) {
        const float keep = upper ? s[v][j + half] : s[v][j];
        const float send = upper ? s[v][j] : s[v][j + half];
        s[v][j] = keep + __shfl_xor_sync(gpu::kFullWarp, send, mask);
      }
    }
    score[v] = s[v][0];
  }
}

/// The values that a lane reads. `lanes` lanes read a row of values; `rows` rows are read together.
template <DType kType>
struct ValueLanes {
  static constexpr int kLoads = kInFlight<kType>;
  static constexpr int kSlots = kType == DType::kI8 ? 2 : 1;  // positions stored next to each other
  int lanes, rows, mine, column, first, last;

  /// Positions outside [begin, end) may have any contents and are not used.
  __device__ ValueLanes(int dim, int lane, int begin, int end)
      : lanes(dim / 8),
        rows(32 / lanes),
        mine(lane / lanes),
        column(lane % lanes * 8),
        first(begin / kSlots),
        last((end + kSlots - 1) / kSlots) {}
  __device__ bool own(int at) const { return mine < rows && at >= first && at < last; }
  /// Starts the loads of rounds [turn, turn + kLoads). A lane that has no value in a round loads
  /// any other value.
  __device__ void load(const AttentionCall& call, const char* values, int turn,
                       Raw<kType> (&raw)[kLoads]) const {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int wanted = mine + (turn + i) * rows;
      const int at = wanted < first ? first : wanted >= last ? last - 1 : wanted;
      raw[i].load(values, (int64_t{at} * call.dim + column) * kSlots * kNumberBytes<kType>);
    }
  }
};

/// Computes the weighted sums of the values of a page, and writes them to this warp's room.mix.
/// Loading the first values before the scores would need more registers: as measured (H200), it is
/// 1 us faster for one sequence and 10 us slower for 64.
template <int kVectors, DType kType>
__device__ inline void mix_values(const AttentionCall& call, const char* values,
                                  Room<kVectors>& room, int warp, int lane, int begin, int end) {
  constexpr int kLoads = kInFlight<kType>;
  constexpr int kSlots = ValueLanes<kType>::kSlots;
  const ValueLanes<kType> own(call.dim, lane, begin, end);
  const int lanes = own.lanes, rows = own.rows, column = own.column;
  float acc[kVectors][8] = {};
  for (int turn = 0; turn * rows < kPage / kSlots; turn += kLoads) {
    Raw<kType> raw[kLoads];
    own.load(call, values, turn, raw);
    __syncwarp();
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int at = own.mine + (turn + i) * rows;
      if (!own.own(at)) continue;
      if constexpr (kType == DType::kI8) {
        float v0[8], v1[8];
        raw[i].widen_pairs(v0, v1);
#pragma unroll
        for (int v = 0; v < kVectors; ++v) {
          const float w0 = room.weight[warp][v][2 * at], w1 = room.weight[warp][v][2 * at + 1];
#pragma unroll
          for (int j = 0; j < 8; ++j) acc[v][j] = fmaf(w1, v1[j], fmaf(w0, v0[j], acc[v][j]));
        }
      } else {
        float x[8];
        raw[i].widen(x);
#pragma unroll
        for (int v = 0; v < kVectors; ++v) {
          const float w = room.weight[warp][v][at];
#pragma unroll
          for (int j = 0; j < 8; ++j) acc[v][j] = fmaf(w, x[j], acc[v][j]);
        }
      }
    }
  }
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      float sum = acc[v][j];
      for (int r = 1; r < rows; ++r)
        sum += __shfl_sync(gpu::kFullWarp, acc[v][j], lane % lanes + r * lanes);
      if (lane < lanes) room.mix[warp][v][column + j] = sum;
    }
  }
}

/// The query vectors of a block: rows of one sequence times the heads of one kv head. Vectors
/// beyond the sequence are copies of the last vector; their results are not written.
template <int kVectors>
struct Tile {
  int32_t row0, rows, kv_len;
  int first, kv_head, group;

  __device__ int count() const { return rows * group; }
  __device__ int vector(int v) const { return first + v < count() ? first + v : count() - 1; }
  __device__ int row(int v) const { return vector(v) / group; }  // in the sequence
  __device__ int head(int v) const { return kv_head * group + vector(v) % group; }
  __device__ int64_t position(int row) const { return int64_t{kv_len} - rows + row; }
  /// Returns what the score of vector `v` gets for a position, if the heads have slopes.
  __device__ float slope(const AttentionCall& call, int v, int64_t at) const {
    return call.slopes[head(v)] * static_cast<float>(at - position(row(v)));
  }
};

/// Processes one page of a warp; writes room.top, room.total and room.mix.
template <int kVectors, DType kType>
__device__ inline void attend_page(const AttentionCall& call, const Tile<kVectors>& tile,
                                   const char* head, const int32_t* table, Room<kVectors>& room,
                                   int64_t page, int warp, int lane) {
  const int64_t start = page * kPage;
  const int64_t low = room.first[0], high = room.last[kVectors - 1];
  if (start + kPage <= low || start >= high) {  // all threads of the warp take the same branch
    if (lane < kVectors) room.total[warp][lane] = 0;
    return;
  }
  const char* keys = head + int64_t{table[page % call.max_pages]} * call.page_bytes;
  const char* values = keys + call.part_bytes;
  const auto inside = [&](int64_t p) {
    return static_cast<int>(p < start ? 0 : p > start + kPage ? kPage : p - start);
  };
  float score[kVectors];
  scores<kVectors, kType>(call, keys, room, lane, score);
  const int slot = lane_position(lane);
  const int64_t position = start + slot;
#pragma unroll
  for (int v = 0; v < kVectors; ++v) {
    const bool visible = position >= room.first[v] && position < room.last[v];
    float s = score[v] * call.scale, value_scale = 1;
    if constexpr (kType == DType::kI8) {
      const int64_t scales = int64_t{kPage} * call.dim;
      s *= reinterpret_cast<const float*>(keys + scales)[slot];
      value_scale = reinterpret_cast<const float*>(values + scales)[slot];
    }
    if (call.cap > 0) s = call.cap * tanhf(s / call.cap);
    if (call.slopes) s += tile.slope(call, v, position);
    const float top = gpu::warp_max(visible ? s : -INFINITY);
    const float weight = visible ? expf(s - top) : 0.f;
    const float total = gpu::warp_sum(weight);
    if constexpr (kType == DType::kI8) {
      room.weight[warp][v][slot] = visible ? weight * value_scale : 0.f;
    } else {
      room.weight[warp][v][slot] = weight;
    }
    if (lane == 0) room.top[warp][v] = top, room.total[warp][v] = total;
  }
  __syncwarp();
  mix_values<kVectors, kType>(call, values, room, warp, lane, inside(low), inside(high));
}

/// The new keys and values that a block writes: keys and values of each row of its sequence.
template <int kVectors>
__device__ inline int new_heads(const AttentionCall& call, const Tile<kVectors>& tile) {
  return call.qkv.rows ? 2 * tile.rows : 0;
}
/// Writes new keys or values number `item` to the cache if its position is in the groups [from,
/// to). The blocks of several tiles write the same numbers. x: room for a head in shared memory.
template <int kVectors>
__device__ inline void store_new_head(const AttentionCall& call, const Tile<kVectors>& tile,
                                      const int32_t* table, int item, int64_t from, int64_t to,
                                      float* x) {
  const int row = item / 2;
  const bool keys = item % 2 == 0;
  const int64_t position = tile.position(row), group = group_of(position);
  if (group < from || group >= to) return;  // all threads of the warp take the same branch
  char* part = call.cache + int64_t{table[position / kPage % call.max_pages]} * call.page_bytes +
               tile.kv_head * call.head_bytes + (keys ? 0 : call.part_bytes);
  store_kv_head(call.qkv, tile.row0 + row, tile.kv_head, keys, position, x, part);
}

/// Loads the query vectors. With call.qkv, also writes the keys and values of the sequence's rows
/// in the groups [from, to) to the cache.
template <int kVectors>
__device__ inline void load_queries(const AttentionCall& call, const Tile<kVectors>& tile,
                                    const int32_t* table, Room<kVectors>& room, int64_t from,
                                    int64_t to) {
  if (!call.qkv.rows) {
    for (int i = static_cast<int>(threadIdx.x); i < kVectors * call.dim; i += kThreads) {
      const int v = i / call.dim, d = i % call.dim;
      room.q[v][d] =
          call.q[(tile.row0 + tile.row(v)) * call.q_stride + int64_t{tile.head(v)} * call.dim + d];
    }
    __syncthreads();
    return;
  }
  const int warp = static_cast<int>(threadIdx.x) / 32;
  for (int item = warp; item < kVectors + new_heads(call, tile); item += kWarps) {
    if (item < kVectors) {
      const int row = tile.row(item);
      turned_head(call.qkv, tile.row0 + row, tile.head(item), tile.position(row), room.q[item]);
    } else {
      store_new_head(call, tile, table, item - kVectors, from, to, room.mix[warp][0]);
    }
  }
  __syncthreads();  // the warps read the keys and values of the others
}

/// Joins the results of the four warps' pages for column d of vector v.
template <int kVectors>
__device__ inline Partial join_warps(const Room<kVectors>& room, int v, int d) {
  Partial sum;
  for (int w = 0; w < kWarps; ++w) {
    if (room.total[w][v] == 0) continue;
    join(sum, {room.top[w][v], room.total[w][v], room.mix[w][v][d]});
  }
  return sum;
}

/// Grid with kSpread: groups, sequences, kv heads x tiles; otherwise: kv heads x tiles, sequences.
/// Only the first size may exceed 65,535, which the tiles of a long prompt need.
template <int kVectors, DType kType, bool kSpread>
__global__ void __launch_bounds__(kThreads) attend(const __grid_constant__ AttentionCall call) {
  constexpr int kOwn = (kVectors * kMaxDim + kThreads - 1) / kThreads;  // columns per thread
  __shared__ Room<kVectors> room;
  gpu::allow_next();
  gpu::wait_for_earlier();
  const int b = static_cast<int>(blockIdx.y);
  const auto place = static_cast<int>(kSpread ? blockIdx.z : blockIdx.x);
  const int32_t row0 = call.row_begin[b];
  const int tile_number = place % call.tiles;
  const Tile<kVectors> tile{row0,
                            call.row_begin[b + 1] - row0,
                            call.kv_len[b],
                            tile_number * kVectors,
                            place / call.tiles,
                            call.group};
  // All threads of the block take the same branch.
  if (tile.first >= tile.count()) return;
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const auto thread = static_cast<int>(threadIdx.x);

  if (thread < kVectors) {
    const Seen s = seen(tile.position(tile.row(thread)), tile.kv_len, call.window, call.causal,
                        call.begin ? call.begin[b] : 0, call.end ? call.end[b] : INT64_MAX);
    room.first[thread] = s.first;
    room.last[thread] = s.last;
  }
  __syncthreads();
  const int64_t begin = group_of(room.first[0]), end = group_of(room.last[kVectors - 1] - 1) + 1;
  const char* head = call.cache + tile.kv_head * call.head_bytes;
  const int32_t* table = call.table + int64_t{b} * call.max_pages;
  Partial sum[kOwn];
  int64_t from = begin, to = end;
  if (kSpread) {
    from = begin + blockIdx.x, to = from + 1;
    if (from >= end) return;
  }
  load_queries(call, tile, table, room, from, to);
  for (int64_t g = from; g < to; ++g) {
    attend_page<kVectors, kType>(call, tile, head, table, room, g * kGroupPages + warp, warp, lane);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const int e = i * kThreads + thread;
      if (e < kVectors * call.dim) join(sum[i], join_warps(room, e / call.dim, e % call.dim));
    }
    __syncthreads();
  }
  if (kSpread && end - begin > 1) {
    const int64_t item = (int64_t{b} * call.kv_heads + tile.kv_head) * call.tiles + tile_number;
    const int64_t size = int64_t{kVectors} * (call.dim + 2);
    float* partial = call.partial + item * gridDim.x * size;
    const auto at = [&](int64_t g, int v, int d) {
      return partial + g * size + int64_t{v} * (call.dim + 2) + d;
    };
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const int e = i * kThreads + thread, v = e / call.dim, d = e % call.dim;
      if (v >= kVectors) continue;
      *at(blockIdx.x, v, d) = sum[i].mix;
      if (d == 0) {
        *at(blockIdx.x, v, call.dim) = sum[i].top;
        *at(blockIdx.x, v, call.dim + 1) = sum[i].total;
      }
    }
    if (!gpu::last_to_arrive(call.counters + item, static_cast<unsigned>(end - begin))) return;
#pragma unroll
    for (int i = 0; i < kOwn; ++i) {
      const int e = i * kThreads + thread, v = e / call.dim, d = e % call.dim;
      if (v >= kVectors) continue;
      sum[i] = Partial{};
      constexpr int kTogether = 4;  // number of groups whose results are loaded together
      const int64_t groups = end - begin;
      for (int64_t g = 0; g < groups; g += kTogether) {
        Partial part[kTogether];
#pragma unroll
        for (int j = 0; j < kTogether; ++j) {
          const int64_t from_group = g + j < groups ? g + j : groups - 1;
          part[j] = {gpu::load_shared_result(at(from_group, v, call.dim)),
                     gpu::load_shared_result(at(from_group, v, call.dim + 1)),
                     gpu::load_shared_result(at(from_group, v, d))};
        }
#pragma unroll
        for (int j = 0; j < kTogether; ++j) {
          if (g + j < groups) join(sum[i], part[j]);
        }
      }
    }
  }
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    const int e = i * kThreads + thread, v = e / call.dim, d = e % call.dim;
    if (v >= kVectors || tile.first + v >= tile.count()) continue;
    put_number(call.out,
               (row0 + tile.row(v)) * call.out_stride + int64_t{tile.head(v)} * call.dim + d,
               sum[i].mix / sum[i].total);
  }
}

constexpr unsigned kMostBlocks = 65535;  // limit of a grid's second and third size

/// Launches one of two kernels whose blocks process `vectors` query vectors: the one that spreads
/// groups over blocks if each sequence has few rows, so that a long context occupies many blocks.
inline void launch_attention(StepContext& ctx, AttentionCall call, const AttentionSize& size,
                             int vectors, void (*spread)(AttentionCall),
                             void (*plain)(AttentionCall), int64_t shared) {
  call.tiles = (size.max_rows * call.group + vectors - 1) / vectors;
  const auto b = static_cast<unsigned>(size.sequences);
  const auto z = static_cast<unsigned>(call.kv_heads * call.tiles);
  const int64_t items = size.sequences * call.kv_heads * call.tiles;
  const Arena::Mark mark(ctx.arena);
  if (size.max_rows <= kFewRows && size.max_groups > 1 && items <= KernelState::kCounters &&
      z <= kMostBlocks) {
    call.partial = take<float>(ctx, items * size.max_groups * vectors * (call.dim + 2));
    call.counters = reinterpret_cast<unsigned*>(state_of(ctx).counters.i32());
    gpu::launch_early("paged_attention", spread, dim3(static_cast<unsigned>(size.max_groups), b, z),
                      kThreads, static_cast<size_t>(shared), stream_of(ctx), call);
  } else {
    gpu::launch_early("paged_attention", plain, dim3(z, b), kThreads, static_cast<size_t>(shared),
                      stream_of(ctx), call);
  }
}

/// Launches the kernel for a batch. Its sequences have at most max_rows rows and max_groups groups
/// of pages.
template <DType kType>
void attend_batch(StepContext& ctx, const AttentionCall& call, const AttentionSize& size) {
  if (size.max_rows * call.group <= 2) {
    launch_attention(ctx, call, size, 2, attend<2, kType, true>, attend<2, kType, false>, 0);
  } else {
    launch_attention(ctx, call, size, 4, attend<4, kType, true>, attend<4, kType, false>, 0);
  }
}

}  // namespace syrinx::cuda
