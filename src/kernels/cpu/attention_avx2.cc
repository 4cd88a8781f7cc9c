#if defined(__x86_64__)
#include <immintrin.h>

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "kernels/attention.h"
#include "kernels/attention_impl.h"
// clang-format off
#include "kernels/cpu/avx2_begin.h"
#include "kernels/cpu/simd.h"
// clang-format on

// Blocks of kBlock positions, counted from position 0, in rising order, each with a running maximum
// (Milakov & Gimelshein, "Online normalizer calculation for softmax", 2018). Both products,
// q K and weights V, are the same small matrix product C[M][n] += A[M][k] B[k][n] with B read
// front to back; every C element is one chain of FMAs over k, so its bits do not depend on how
// many rows or columns are computed together.
namespace syrinx::avx2 {
namespace {

constexpr int kRows = KvPool::kPageRows;
constexpr int kBlock = 4 * kRows;
constexpr int kVectors = AttentionTile::kMaxVectors;
constexpr int kDim = AttentionTile::kMaxDim;

struct F32 {
  using T = float;
  static SYRINX_INLINE V8 get(const T* p) { return load(p); }
};
struct F16 {
  using T = uint16_t;
  static SYRINX_INLINE V8 get(const T* p) { return load(p); }
};
struct BF16 {
  using T = uint16_t;
  static SYRINX_INLINE V8 get(const T* p) { return load_bf16(p); }
};

/// C[i][0 .. 8N) += sum over k of A[i][k] B[k][0 .. 8N), i < M. Asks the memory for the same place
/// in `next`, what will be read after B.
template <typename Type, int M, int N>
SYRINX_INLINE void product(const float* a, int64_t a_stride, const typename Type::T* b,
                           int64_t b_stride, int64_t depth, float* c, int64_t c_stride,
                           const typename Type::T* next) {
  V8 acc[M][N];
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) acc[i][j] = load(c + i * c_stride + 8 * j);
  for (int64_t k = 0; k < depth; ++k) {
    V8 x[M];
    for (int i = 0; i < M; ++i) x[i] = all(a[i * a_stride + k]);
    _mm_prefetch(reinterpret_cast<const char*>(next + k * b_stride), _MM_HINT_T1);
    if (sizeof(typename Type::T) == 4 && N == 4)
      _mm_prefetch(reinterpret_cast<const char*>(next + k * b_stride + 16), _MM_HINT_T1);
    for (int j = 0; j < N; ++j) {
      const V8 y = Type::get(b + k * b_stride + 8 * j);
      for (int i = 0; i < M; ++i) acc[i][j] = fma(x[i], y, acc[i][j]);
    }
  }
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) store(c + i * c_stride + 8 * j, acc[i][j]);
}

/// The same for any number of rows and any multiple of 8 columns.
template <typename Type, int N>
SYRINX_INLINE void product_rows(int m, const float* a, int64_t a_stride, const typename Type::T* b,
                                int64_t b_stride, int64_t depth, float* c, int64_t c_stride,
                                const typename Type::T* next) {
  for (; m >= 3; m -= 3, a += 3 * a_stride, c += 3 * c_stride, next = b)
    product<Type, 3, N>(a, a_stride, b, b_stride, depth, c, c_stride, next);
  if (m == 2) product<Type, 2, N>(a, a_stride, b, b_stride, depth, c, c_stride, next);
  if (m == 1) product<Type, 1, N>(a, a_stride, b, b_stride, depth, c, c_stride, next);
}

template <typename Type>
void product_any(int m, int64_t columns, const float* a, int64_t a_stride,
                 const typename Type::T* b, int64_t b_stride, int64_t depth, float* c,
                 int64_t c_stride, const typename Type::T* next) {
  for (; columns >= 32; columns -= 32, b += 32, c += 32, next += 32)
    product_rows<Type, 4>(m, a, a_stride, b, b_stride, depth, c, c_stride, next);
  for (; columns >= 16; columns -= 16, b += 16, c += 16, next += 16)
    product_rows<Type, 2>(m, a, a_stride, b, b_stride, depth, c, c_stride, next);
  if (columns) product_rows<Type, 1>(m, a, a_stride, b, b_stride, depth, c, c_stride, next);
}

/// Scores of one block become weights e^(score - top); returns the factor for what came before.
/// Positions outside [low, high) of the block weigh nothing.
SYRINX_INLINE float softmax_block(float* s, int width, int64_t low, int64_t high, float scale,
                                  float& top, float& total) {
  const V8 f = all(scale);
  V8 peak = all(top);
  for (int j = 0; j < width; j += 8) {
    V8 x = mul(load(s + j), f);
    if (j < low || j + 8 > high) {
      const __m256i lane =
          _mm256_add_epi32(_mm256_set1_epi32(j), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
      const __m256i inside =
          _mm256_and_si256(_mm256_cmpgt_epi32(lane, _mm256_set1_epi32(static_cast<int>(low) - 1)),
                           _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(high)), lane));
      x = _mm256_blendv_ps(all(-INFINITY), x, _mm256_castsi256_ps(inside));
    }
    store(s + j, x);
    peak = max(x, peak);
  }
  const float higher = largest(peak);
  const V8 shift = all(higher);
  V8 mass = all(0);
  for (int j = 0; j < width; j += 8) {
    const V8 w = exp(sub(load(s + j), shift));
    store(s + j, w);
    mass = add(mass, w);
  }
  const float keep = _mm256_cvtss_f32(exp(all(top - higher)));
  total = fma(all(total), all(keep), all(sum(mass)))[0];
  top = higher;
  return keep;
}

template <typename Type>
void attend_as(const AttentionTile& t) {
  using T = typename Type::T;
  const int vectors = t.rows * t.group, dim = t.dim;
  alignas(64) float q[kVectors * kDim], mix[kVectors * kDim], scores[kVectors * kBlock];
  float top[kVectors], total[kVectors];
  for (int i = 0; i < vectors; ++i) {
    const float* from = t.q + (i / t.group) * t.q_stride + int64_t{i % t.group} * dim;
    std::copy_n(from, dim, q + i * dim);
    std::fill_n(mix + i * dim, dim, 0.f);
    top[i] = -FLT_MAX;
    total[i] = 0;
  }
  const int64_t last = t.last(t.rows - 1);
  for (int64_t start = t.first(0) / kBlock * kBlock; start < last; start += kBlock) {
    // Pages before the window may be gone: skip them; their weights are 0.
    const int64_t skip = std::max<int64_t>(t.first(0) - start, 0) / kRows * kRows;
    const int64_t count = std::min<int64_t>(last - start, kBlock);
    const int width = static_cast<int>((count + kRows - 1) / kRows * kRows);
    std::fill_n(scores, vectors * kBlock, 0.f);
    // What is read four pages from now is asked for while a page is worked on: its values while
    // its keys are, then the keys of the next block. Into L2: L1 has too few misses in flight.
    const auto keys = [&](int64_t p) SYRINX_LAMBDA {
      return reinterpret_cast<const T*>(t.page((start + p) / kRows));
    };
    const auto values = [&](int64_t p) SYRINX_LAMBDA { return keys(p) + int64_t{kRows} * dim; };
    for (int64_t p = skip; p < count; p += kRows)
      product_any<Type>(vectors, kRows, q, dim, keys(p), kRows, dim, scores + p, kBlock, values(p));
    for (int i = 0; i < vectors; ++i) {
      const int row = i / t.group;
      const float keep = softmax_block(scores + i * kBlock, width, t.first(row) - start,
                                       t.last(row) - start, t.scale, top[i], total[i]);
      if (keep != 1.f)
        for (int d = 0; d < dim; d += 8)
          store(mix + i * dim + d, mul(load(mix + i * dim + d), all(keep)));
    }
    const auto later = [&](int64_t p) SYRINX_LAMBDA {
      if (start + p + kBlock < last) return keys(p + kBlock);
      const int64_t ahead = t.next_page + p / kRows;
      if (start + kBlock < last || !t.next_head || ahead >= t.next_end) return values(p);
      return reinterpret_cast<const T*>(t.next_head +
                                        t.next_table[ahead % t.max_pages] * t.page_bytes);
    };
    for (int64_t p = skip; p < count; p += kRows)
      product_any<Type>(vectors, dim, scores + p, kBlock, values(p), dim,
                        std::min<int64_t>(kRows, count - p), mix, dim, later(p));
  }
  for (int i = 0; i < vectors; ++i) {
    float* to = t.out + (i / t.group) * t.out_stride + int64_t{i % t.group} * dim;
    const V8 f = all(1.f / total[i]);
    for (int d = 0; d < dim; d += 8) store(to + d, mul(load(mix + i * dim + d), f));
  }
}

}  // namespace

void attend(const AttentionTile& t) {
  switch (t.dtype) {
    case DType::kF32:
      return attend_as<F32>(t);
    case DType::kF16:
      return attend_as<F16>(t);
    default:
      return attend_as<BF16>(t);
  }
}

}  // namespace syrinx::avx2
#include "kernels/cpu/avx2_end.h"
#endif
