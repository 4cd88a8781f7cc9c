// Paged attention on tensor cores, for caches of 16 bits: queries and softmax weights are rounded
// to the cache's type, scores, softmax and sums are f32. A block of four warps processes 16 *
// kTiles query vectors, and one group of four pages after another. It copies keys and values to
// shared memory without waiting in between. A warp computes the scores of one page; then the warps
// divide the columns of the values. Decoding and prefill use the same instructions in the same
// order: each group is summed with its own largest score, and groups are joined in order. So a row
// has the same bits from either.
#pragma once

#include "kernels/cuda/attention.cuh"

namespace syrinx::cuda {

/// Where a block has its operands in dynamic shared memory, in 16-bit numbers. Rows are an odd
/// number of 16-byte pieces apart, so that a load of matrices uses all banks.
struct TensorRoom {
  static constexpr int kKeyStride = kPage + 8, kWeightStride = kGroupPositions + 8;
  int dims, q_stride, value_stride;  // dims: a multiple of 16
  int keys, values, weights, all;

  __device__ __host__ constexpr TensorRoom(int dim, int vectors)
      : dims((dim + 15) / 16 * 16),
        q_stride(dims + 8),
        value_stride((dim / 8 | 1) * 8),
        keys(vectors * q_stride),
        values(keys + kGroupPages * dims * kKeyStride),
        weights(values + kGroupPositions * value_stride),
        all(weights + vectors * kWeightStride) {}
};

/// How two softmax results are joined: factors of the earlier and of the later one.
struct JoinFactors {
  float top, keep, take;
};
__device__ inline JoinFactors join_factors(float top_a, float total_a, float top_b, float total_b) {
  if (total_b == 0) return {top_a, 1, 0};
  if (total_a == 0) return {top_b, 0, 1};
  const float top = fmaxf(top_a, top_b);
  return {top, expf(top_a - top), expf(top_b - top)};
}

template <DType kType>
struct Tensor16 {
  static constexpr uint32_t kOnes = kType == DType::kF16 ? 0x3c003c00u : 0x3f803f80u;
  __device__ static void multiply(float (&c)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    if constexpr (kType == DType::kF16) {
      gpu::mma_f16(c, a[0], a[1], a[2], a[3], b0, b1);
    } else {
      gpu::mma_bf16(c, a[0], a[1], a[2], a[3], b0, b1);
    }
  }
  __device__ static uint32_t pack(float low, float high) {
    return kType == DType::kF16 ? gpu::pack_f16(low, high) : gpu::pack_bf16(low, high);
  }
};

// Grid: as attend().
template <DType kType, int kTiles, bool kSpread>
__global__ void __launch_bounds__(kThreads, kTiles == 1 ? 3 : 2)
    attend_tensor(const __grid_constant__ AttentionCall call) {
  using T = Tensor16<kType>;
  constexpr int kVectors = 16 * kTiles, kColumns = kMostTensorDim / 8 / kWarps;
  __shared__ float tops[kWarps][kVectors];
  __shared__ int32_t firsts[kVectors], lasts[kVectors];  // positions that each vector sees
  gpu::allow_next();
  gpu::wait_for_earlier();
  const int b = static_cast<int>(blockIdx.y);
  const auto place = static_cast<int>(kSpread ? blockIdx.z : blockIdx.x);
  const int32_t row0 = call.row_begin[b];
  const int tile_number = place % call.tiles, dim = call.dim;
  const Tile<kVectors> tile{row0,
                            call.row_begin[b + 1] - row0,
                            call.kv_len[b],
                            tile_number * kVectors,
                            place / call.tiles,
                            call.group};
  // All threads of the block take the same branch.
  if (tile.first >= tile.count()) return;
  const int mine = tile.count() - tile.first < kVectors ? tile.count() - tile.first : kVectors;
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  const int g = lane / 4, t = lane % 4;
  for (int v = thread; v < kVectors; v += kThreads) {
    const Seen s = seen(tile.position(tile.row(v)), tile.kv_len, call.window, call.causal,
                        call.begin ? call.begin[b] : 0, call.end ? call.end[b] : INT64_MAX);
    firsts[v] = static_cast<int32_t>(s.first);
    lasts[v] = static_cast<int32_t>(s.last);
  }
  __syncthreads();
  const int low = firsts[0], high = lasts[kVectors - 1];
  const int begin = static_cast<int>(group_of(low)), end = static_cast<int>(group_of(high - 1)) + 1;
  const int from = kSpread ? begin + static_cast<int>(blockIdx.x) : begin;
  const int to = kSpread ? from + 1 : end;
  if (from >= end) return;

  const TensorRoom room(dim, kVectors);
  auto* const q = gpu::dynamic_shared<uint16_t>();
  uint16_t* const keys = q + room.keys + warp * room.dims * TensorRoom::kKeyStride;
  uint16_t* const values = q + room.values;
  uint16_t* const weights = q + room.weights;
  const char* head = call.cache + tile.kv_head * call.head_bytes;
  const int32_t* table = call.table + int64_t{b} * call.max_pages;
  const auto is_seen = [&](int page) { return (page + 1) * kPage > low && page * kPage < high; };
  const auto address = [&](int page) {
    return head + int64_t{table[page % call.max_pages]} * call.page_bytes;
  };
  // Each begins to copy this warp's page of a group; a page that no vector sees is not read.
  const auto copy_keys = [&](int page) {
    if (!is_seen(page)) return;
    const char* x = address(page);
    for (int i = lane; i < dim * 4; i += 32)
      gpu::copy_async(keys + i / 4 * TensorRoom::kKeyStride + i % 4 * 8, x + 16 * i, true);
  };
  // Positions that no vector sees may have any contents, and become zeros.
  const auto copy_values = [&](int page) {
    if (!is_seen(page)) return;
    const char* x = address(page) + call.part_bytes;
    const int pieces = dim / 8;
    int row = lane / pieces, piece = lane % pieces;
    for (int i = lane; i < kPage * pieces; i += 32) {
      const int position = page * kPage + row;
      gpu::copy_async(values + (page % kGroupPages * kPage + row) * room.value_stride + piece * 8,
                      x + 16 * i, position >= low && position < high);
      row += 32 / pieces, piece += 32 % pieces;
      if (piece >= pieces) piece -= pieces, ++row;
    }
  };

  // The pages that this block does not write need not wait for the queries.
  const int own_page = from * kGroupPages + warp;
  const bool old = !call.qkv.rows || (own_page + 1) * kPage <= tile.position(0);
  if (old) {
    copy_keys(own_page);
    copy_values(own_page);
  }
  for (int i = thread; i < kVectors * room.dims; i += kThreads) {
    const int v = i / room.dims, d = i % room.dims;
    if (v >= mine || d >= dim) q[v * room.q_stride + d] = 0;
  }
  for (int d = dim; d < room.dims; ++d) keys[d * TensorRoom::kKeyStride + lane] = 0;
  auto* const x = reinterpret_cast<float*>(weights) + warp * kMostTensorDim;
  for (int item = warp; item < mine + new_heads(call, tile); item += kWarps) {
    if (item >= mine) {
      store_new_head(call, tile, table, item - mine, from, to, x);
      continue;
    }
    const int row = tile.row(item);
    const float* vector = x;
    if (call.qkv.rows) {
      turned_head(call.qkv, tile.row0 + row, tile.head(item), tile.position(row), x);
    } else {
      vector = call.q + (tile.row0 + row) * call.q_stride + int64_t{tile.head(item)} * dim;
    }
    for (int d = lane; d < dim; d += 32)
      store_cached(reinterpret_cast<char*>(q), item * room.q_stride + d, vector[d], kType);
    __syncwarp();  // all lanes have read x
  }
  __syncthreads();
  if (!old) copy_keys(own_page);
  gpu::commit_copies();
  if (!old) copy_values(own_page);
  gpu::commit_copies();

  // The lane's vectors are g and g + 8 of each tile; its columns 2t and 2t + 1 of each eight.
  int first[kTiles][2], last[kTiles][2];
  float top[kTiles][2], total[kTiles][2] = {}, mix[kTiles][kColumns][4] = {};
#pragma unroll
  for (int m = 0; m < kTiles; ++m) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      first[m][i] = firsts[16 * m + 8 * i + g], last[m][i] = lasts[16 * m + 8 * i + g];
      top[m][i] = -INFINITY;
    }
  }
  const auto multiply_keys = [&](float(&s)[kTiles][4][4]) {
#pragma unroll 2
    for (int d = 0; d < room.dims; d += 16) {
      uint32_t a[kTiles][4], k[2][4];
#pragma unroll
      for (int m = 0; m < kTiles; ++m)
        gpu::load_matrices(a[m], q + (16 * m + lane % 16) * room.q_stride + d + lane / 16 * 8);
#pragma unroll
      for (int h = 0; h < 2; ++h)
        gpu::load_matrices_transposed(
            k[h], keys + (d + lane % 16) * TensorRoom::kKeyStride + 16 * h + lane / 16 * 8);
#pragma unroll
      for (int m = 0; m < kTiles; ++m) {
#pragma unroll
        for (int j = 0; j < 4; ++j)
          T::multiply(s[m][j], a[m], k[j / 2][j % 2 * 2], k[j / 2][j % 2 * 2 + 1]);
      }
    }
  };

#pragma unroll 1
  for (int group = from; group < to; ++group) {
    const int page = group * kGroupPages + warp;
    float s[kTiles][4][4] = {};  // element [j][i] is position 8 j + 2 t + i % 2
    gpu::wait_copies<1>();
    __syncwarp();
    if (is_seen(page)) multiply_keys(s);  // all threads of the warp take the same branch
#pragma unroll
    for (int m = 0; m < kTiles; ++m) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        float largest = -INFINITY;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
#pragma unroll
          for (int i = 0; i < 2; ++i) {
            const int position = page * kPage + 8 * j + 2 * t + i;
            float& score = s[m][j][2 * r + i];
            score *= call.scale;
            if (call.cap > 0) score = call.cap * tanhf(score / call.cap);
            if (call.slopes) score += tile.slope(call, 16 * m + 8 * r + g, position);
            if (position < first[m][r] || position >= last[m][r]) score = -INFINITY;
            largest = fmaxf(largest, score);
          }
        }
        largest = fmaxf(largest, __shfl_xor_sync(gpu::kFullWarp, largest, 1));
        largest = fmaxf(largest, __shfl_xor_sync(gpu::kFullWarp, largest, 2));
        if (t == 0) tops[warp][16 * m + 8 * r + g] = largest;
      }
    }
    __syncwarp();  // all lanes have read the keys
    if (group + 1 < to) copy_keys(page + kGroupPages);
    gpu::commit_copies();
    __syncthreads();
    float group_top[kTiles][2];
#pragma unroll
    for (int m = 0; m < kTiles; ++m) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const int v = 16 * m + 8 * r + g;
        float& largest = group_top[m][r];
        largest = fmaxf(fmaxf(tops[0][v], tops[1][v]), fmaxf(tops[2][v], tops[3][v]));
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          float w[2];
#pragma unroll
          for (int i = 0; i < 2; ++i) {
            const float score = s[m][j][2 * r + i];
            w[i] = score == -INFINITY ? 0.f : expf(score - largest);
          }
          *reinterpret_cast<uint32_t*>(weights + v * TensorRoom::kWeightStride + warp * kPage +
                                       8 * j + 2 * t) = T::pack(w[0], w[1]);
        }
      }
    }
    gpu::wait_copies<1>();
    __syncthreads();
    // The total is the weighted sum of a column of ones, so it has the rounded weights.
    float sum[kTiles][kColumns][4] = {}, ones[kTiles][4] = {};
#pragma unroll 1
    for (int p = 0; p < kGroupPages; ++p) {
      if (!is_seen(group * kGroupPages + p)) continue;  // the same for all threads of the block
      uint32_t a[2][kTiles][4];
#pragma unroll
      for (int h = 0; h < 2; ++h) {
#pragma unroll
        for (int m = 0; m < kTiles; ++m)
          gpu::load_matrices(a[h][m], weights + (16 * m + lane % 16) * TensorRoom::kWeightStride +
                                          p * kPage + 16 * h + lane / 16 * 8);
      }
#pragma unroll
      for (int m = 0; m < kTiles; ++m) {
        T::multiply(ones[m], a[0][m], T::kOnes, T::kOnes);
        T::multiply(ones[m], a[1][m], T::kOnes, T::kOnes);
      }
#pragma unroll
      for (int c = 0; c < kColumns; ++c) {
        const int column = 8 * (warp + kWarps * c);
        if (column >= dim) break;  // all threads of the warp take the same branch
        uint32_t part[4];
        gpu::load_matrices_transposed(part,
                                      values + (p * kPage + lane) * room.value_stride + column);
#pragma unroll
        for (int m = 0; m < kTiles; ++m) {
          T::multiply(sum[m][c], a[0][m], part[0], part[1]);
          T::multiply(sum[m][c], a[1][m], part[2], part[3]);
        }
      }
    }
#pragma unroll
    for (int m = 0; m < kTiles; ++m) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const JoinFactors f = join_factors(top[m][r], total[m][r], group_top[m][r], ones[m][2 * r]);
        top[m][r] = f.top;
        total[m][r] = fmaf(ones[m][2 * r], f.take, total[m][r] * f.keep);
#pragma unroll
        for (int c = 0; c < kColumns; ++c) {
#pragma unroll
          for (int i = 2 * r; i < 2 * r + 2; ++i)
            mix[m][c][i] = fmaf(sum[m][c][i], f.take, mix[m][c][i] * f.keep);
        }
      }
    }
    if (group + 1 == to) break;
    __syncthreads();  // all warps have read the values
    copy_values(page + kGroupPages);
    gpu::commit_copies();
  }

  // Calls put(vector, column, sum) for each result of this lane.
  const auto each = [&](auto put) {
#pragma unroll
    for (int m = 0; m < kTiles; ++m) {
#pragma unroll
      for (int c = 0; c < kColumns; ++c) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          const int v = 16 * m + 8 * (i / 2) + g, d = 8 * (warp + kWarps * c) + 2 * t + i % 2;
          if (v < mine && d < dim) put(v, d, mix[m][c][i], total[m][i / 2]);
        }
      }
    }
  };
  const auto write = [&](int v, int d, float sum, float all) {
    put_number(call.out, (row0 + tile.row(v)) * call.out_stride + int64_t{tile.head(v)} * dim + d,
               sum / all);
  };
  const int groups = end - begin;
  if (!kSpread || groups == 1) return each(write);
  const int64_t item = (int64_t{b} * call.kv_heads + tile.kv_head) * call.tiles + tile_number;
  float* partial = call.partial + item * gridDim.x * kVectors * (dim + 2);
  const auto at = [&](int group, int v, int d) {
    return partial + (int64_t{group} * kVectors + v) * (dim + 2) + d;
  };
  each([&](int v, int d, float sum, float) { *at(from - begin, v, d) = sum; });
  if (warp == 0 && t == 0) {
#pragma unroll
    for (int m = 0; m < kTiles; ++m) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        const int v = 16 * m + 8 * r + g;
        *at(from - begin, v, dim) = top[m][r];
        *at(from - begin, v, dim + 1) = total[m][r];
      }
    }
  }
  if (!gpu::last_to_arrive(call.counters + item, static_cast<unsigned>(groups))) return;
  for (int e = thread; e < mine * dim; e += kThreads) {
    const int v = e / dim, d = e % dim;
    Partial all;
    constexpr int kTogether = 4;  // number of groups whose results are loaded together
    for (int first_group = 0; first_group < groups; first_group += kTogether) {
      Partial loaded[kTogether];
#pragma unroll
      for (int j = 0; j < kTogether; ++j) {
        const int i = first_group + j < groups ? first_group + j : groups - 1;
        loaded[j] = {gpu::load_shared_result(at(i, v, dim)),
                     gpu::load_shared_result(at(i, v, dim + 1)),
                     gpu::load_shared_result(at(i, v, d))};
      }
#pragma unroll
      for (int j = 0; j < kTogether; ++j) {
        if (first_group + j >= groups) continue;
        const JoinFactors f = join_factors(all.top, all.total, loaded[j].top, loaded[j].total);
        all = {f.top, fmaf(loaded[j].total, f.take, all.total * f.keep),
               fmaf(loaded[j].mix, f.take, all.mix * f.keep)};
      }
    }
    write(v, d, all.mix, all.total);
  }
}

template <DType kType>
void attend_on_tensor_cores(StepContext& ctx, const AttentionCall& call,
                            const AttentionSize& size) {
  const auto go = [&](int vectors, void (*spread)(AttentionCall), void (*plain)(AttentionCall)) {
    launch_attention(ctx, call, size, vectors, spread, plain,
                     2 * int64_t{TensorRoom(call.dim, vectors).all});
  };
  if (size.max_rows * call.group <= 16) {
    go(16, attend_tensor<kType, 1, true>, attend_tensor<kType, 1, false>);
  } else {
    go(32, attend_tensor<kType, 2, true>, attend_tensor<kType, 2, false>);
  }
}

}  // namespace syrinx::cuda
