// Compiled for AVX512-VNNI and for the sets of gemm_avx512.cc.
#include "kernels/cpu/pair_tiles.h"
#include "kernels/cpu/q8_weights_avx512.h"

namespace syrinx {
namespace {

/// Pairs of int8, widened to int16.
struct Words {
  using Number = int16_t;
  using V = __m512i;
  static V sums(__m512i bits) { return bits; }
  static __m512i bits(V sums) { return sums; }
  static __m512i pairs(__mmask16 mask, const int8_t* b) {
    return _mm512_cvtepi8_epi16(_mm256_maskz_loadu_epi16(mask, b));
  }
  template <int M, int N, int64_t kStride>
  static void add(const int16_t* a, const __m512i (&y)[N], V (&c)[M][N]) {
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i) {
      int pair;
      __builtin_memcpy(&pair, a + i * kStride, sizeof pair);
      const __m512i x = _mm512_set1_epi32(pair);
#pragma GCC unroll 2
      for (int j = 0; j < N; ++j) {
        // Not the intrinsic, because GCC 12 then copies the sums to memory and back.
        asm("vpdpwssd %2, %1, %0" : "+v"(c[i][j]) : "v"(x), "v"(y[j]));
      }
    }
  }
};

/// Loads 16 columns of two pairs; each column's four bytes become adjacent.
__m512i quads(const int8_t* pair, const int8_t* next, __mmask16 mask) {
  alignas(64) static constexpr uint16_t kOrder[32] = {0,  32, 1,  33, 2,  34, 3,  35, 4,  36, 5,
                                                      37, 6,  38, 7,  39, 8,  40, 9,  41, 10, 42,
                                                      11, 43, 12, 44, 13, 45, 14, 46, 15, 47};
  return _mm512_permutex2var_epi16(_mm512_castsi256_si512(_mm256_maskz_loadu_epi16(mask, pair)),
                                   _mm512_load_si512(kOrder),
                                   _mm512_castsi256_si512(_mm256_maskz_loadu_epi16(mask, next)));
}

using Sums = __m512i;

/// Adds products of M rows of bytes and 16 N columns of pairs to c; the last vector has only the
/// lanes of `mask`. vpdpbusd multiplies unsigned by signed bytes: if A is signed, B + 128 is
/// unsigned. a: rows kStride bytes apart. b: pairs b_stride bytes apart. depth % 4 == 0.
template <bool kSignedA, int M, int N, int64_t kStride>
[[gnu::always_inline]] inline void add_quads(const void* a, const int8_t* b, int64_t b_stride,
                                             int depth, __mmask16 mask, Sums (&c)[M][N]) {
  const auto* bytes = static_cast<const char*>(a);
  for (int k = 0; k < depth; k += 4, bytes += 4, b += 2 * b_stride) {
    __m512i y[N];
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j) {
      y[j] = quads(b + 32 * j, b + b_stride + 32 * j, j == N - 1 ? mask : 0xffff);
      if (kSignedA) y[j] = _mm512_xor_si512(y[j], _mm512_set1_epi8(-128));
    }
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i) {
      int four;
      __builtin_memcpy(&four, bytes + i * kStride, sizeof four);
      const __m512i x = _mm512_set1_epi32(four);
#pragma GCC unroll 2
      for (int j = 0; j < N; ++j) {
        if (kSignedA) {
          asm("vpdpbusd %2, %1, %0" : "+v"(c[i][j]) : "v"(y[j]), "v"(x));
        } else {
          asm("vpdpbusd %2, %1, %0" : "+v"(c[i][j]) : "v"(x), "v"(y[j]));
        }
      }
    }
  }
}

constexpr int kMost = Q8Block::kMost, kPage = ByteBlock::kPageRows;

/// Computes sums * key_scales for M rows and the positions of a page from `at` on. x: [M][kMost].
template <int M>
[[gnu::noinline]] void score(const ByteBlock& block, const ByteRow* rows, int at, float* x) {
  Sums c[M][2];
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < 2; ++j)
      asm volatile("vpbroadcastd %1, %0" : "=v"(c[i][j]) : "m"(rows[i].start));
  }
  add_quads<true, M, 2, ByteRow::kStride>(rows->q, block.keys[at / kPage], 2 * kPage, block.dim,
                                          0xffff, c);
#pragma GCC unroll 2
  for (int j = 0; j < 2; ++j) {
    const __m512 scales = _mm512_load_ps(block.key_scales + at + 16 * j);
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i)
      _mm512_store_ps(x + i * kMost + at + 16 * j, _mm512_mul_ps(cpu::to_float(c[i][j]), scales));
  }
}

/// Adds the values to 16 N columns of M rows. weights: [M][kMost].
template <int M, int N>
[[gnu::noinline]] void mix(const ByteBlock& block, const ByteRow* rows, const uint8_t* weights,
                           int column, __mmask16 mask) {
  Sums c[M][N];
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i) {
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j) asm volatile("vpxord %0, %0, %0" : "=v"(c[i][j]));
  }
  for (int at = 0; at < block.width; at += kPage) {
    const int8_t* values = block.values[at / kPage];
    if (values == nullptr) continue;
    add_quads<false, M, N, kMost>(weights + at, values + 2 * column, 2 * block.dim, kPage, mask, c);
  }
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i) {
    const __m512 unit = _mm512_set1_ps(rows[i].unit), keep = _mm512_set1_ps(rows[i].keep);
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j) {
      const __mmask16 lanes = j == N - 1 ? mask : 0xffff;
      float* to = rows[i].mixed + column + 16 * j;
      const __m512 before = _mm512_mul_ps(_mm512_maskz_loadu_ps(lanes, to), keep);
      _mm512_mask_storeu_ps(to, lanes, _mm512_fmadd_ps(cpu::to_float(c[i][j]), unit, before));
    }
  }
}

/// Runs f.template operator()<M>(row) for tiles of all rows.
template <class F>
void in_tiles(int count, F f) {
  int row = 0;
  for (; row + 12 <= count; row += 12) f.template operator()<12>(row);
  for (; row + 4 <= count; row += 4) f.template operator()<4>(row);
  for (; row < count; ++row) f.template operator()<1>(row);
}

}  // namespace

void attend_bytes_avx512vnni(const ByteBlock& block, ByteRow* rows, int count) {
  alignas(64) float x[Q8Block::kMostRows][kMost];
  alignas(64) uint8_t weights[Q8Block::kMostRows][kMost];
  for (int at = 0; at < block.width; at += kPage) {
    if (block.keys[at / kPage] == nullptr) continue;
    in_tiles(count, [&]<int M>(int i) { score<M>(block, rows + i, at, x[i]); });
  }
  const auto to = [&](int i) { return weights[i]; };
  if (cpu::attend_to_all(block, rows, count)) {
    cpu::weigh_all<true>(block, rows, count, x, to);
  } else {
    cpu::weigh_all<false>(block, rows, count, x, to);
  }
  in_tiles(count, [&]<int M>(int i) {
    int column = 0;
    for (; column + 32 <= block.dim; column += 32)
      mix<M, 2>(block, rows + i, weights[i], column, 0xffff);
    for (; column < block.dim; column += 16)
      mix<M, 1>(block, rows + i, weights[i], column, block.dim - column >= 16 ? 0xffff : 0xff);
  });
}

void pair_product_avx512vnni(const PairProduct<int16_t>& p) { cpu::pair_tiles<Words>(p); }

}  // namespace syrinx
