#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <numeric>

#include "kernels/attention.h"
#include "kernels/attention_impl.h"
// clang-format off
#include "kernels/cpu/simd_begin.h"
#include "kernels/cpu/simd.h"
// clang-format on

// Attention processes blocks of kBlock positions, counted from position 0, in ascending order, with
// a running maximum (Milakov & Gimelshein, "Online normalizer calculation for softmax", 2018). Both
// products, q K and weights V, are the same small matrix product C[M][n] += A[M][k] B[k][n], which
// reads B in memory order. Every element of C is one chain of FMAs over k, so its bits do not
// depend on how many rows or columns are computed together.
namespace syrinx::simd {
namespace {

constexpr int kRows = KvPool::kPageRows;
constexpr int kBlock = 4 * kRows;
constexpr int kVectors = AttentionTile::kMaxVectors;
constexpr int kDim = AttentionTile::kMaxDim;
constexpr float kLog2E = 1.44269504088896341f;

/// Prefetches memory into L2 that will be read soon.
SYRINX_INLINE void ask_for(const void* p) { __builtin_prefetch(p, 0, 2); }

struct F32 {
  using T = float;
  static SYRINX_INLINE V8 get(const T* p) { return load(p); }
};
struct F16 {
  using T = uint16_t;
  static SYRINX_INLINE V8 get(const T* p) { return load(p); }
};

/// Computes C[i][0 .. 8N) += sum over k of A[i][k] B[k][0 .. 8N), i < M. Also prefetches `next`,
/// the memory that is read after B, at the same offsets.
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
    ask_for(next + k * b_stride);
    if (sizeof(typename Type::T) == 4 && N == 4) ask_for(next + k * b_stride + 16);
    for (int j = 0; j < N; ++j) {
      const V8 y = Type::get(b + k * b_stride + 8 * j);
      for (int i = 0; i < M; ++i) acc[i][j] = fma(x[i], y, acc[i][j]);
    }
  }
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) store(c + i * c_stride + 8 * j, acc[i][j]);
}

/// Computes what product() computes, for any number of rows and any multiple of 8 columns.
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

/// Converts x to integers up to +-most in units of the returned number. A NaN in x makes the unit
/// NaN. count % 8 == 0.
SYRINX_INLINE float to_int16(const float* x, int count, float most, int16_t* out) {
  const float top = largest_magnitude(x, count);
  const V8 f = all(top > 0 ? most / top : 0.f);
  for (int i = 0; i < count; i += 8) store_int16(out + i, mul(load(x + i), f));
  return top * (1.f / most);
}

/// Computes C[i][n] += sum over k of A[i][2k] B[k][n][0] + A[i][2k + 1] B[k][n][1], exact; n < 8N.
/// a_stride and c_stride count numbers; b_stride counts the bytes from B[k] to B[k + 1].
template <int M, int N>
SYRINX_INLINE void product_q8_tile(const int16_t* a, int64_t a_stride, const char* b,
                                   int64_t b_stride, int64_t depth, int32_t* c, int64_t c_stride,
                                   const char* next) {
  I8 acc[M][N];
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) acc[i][j] = load(c + i * c_stride + 8 * j);
  for (int64_t k = 0; k < depth; ++k) {
    Pair x[M];
    for (int i = 0; i < M; ++i) x[i] = all_pair(a + i * a_stride + 2 * k);
    ask_for(next + k * b_stride);
    for (int j = 0; j < N; ++j) {
      const Pairs y = load_pairs(b + k * b_stride + 16 * j);
      for (int i = 0; i < M; ++i) acc[i][j] = add_products(x[i], y, acc[i][j]);
    }
  }
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) store(c + i * c_stride + 8 * j, acc[i][j]);
}

template <int N>
SYRINX_INLINE void product_q8_rows(int m, const int16_t* a, int64_t a_stride, const char* b,
                                   int64_t b_stride, int64_t depth, int32_t* c, int64_t c_stride,
                                   const char* next) {
  for (; m >= 3; m -= 3, a += 3 * a_stride, c += 3 * c_stride, next = b)
    product_q8_tile<3, N>(a, a_stride, b, b_stride, depth, c, c_stride, next);
  if (m == 2) product_q8_tile<2, N>(a, a_stride, b, b_stride, depth, c, c_stride, next);
  if (m == 1) product_q8_tile<1, N>(a, a_stride, b, b_stride, depth, c, c_stride, next);
}

void product_q8(int m, int64_t columns, const int16_t* a, int64_t a_stride, const char* b,
                int64_t b_stride, int64_t depth, int32_t* c, int64_t c_stride, const char* next) {
  for (; columns >= 32; columns -= 32, b += 64, c += 32, next += 64)
    product_q8_rows<4>(m, a, a_stride, b, b_stride, depth, c, c_stride, next);
  for (; columns >= 16; columns -= 16, b += 32, c += 16, next += 32)
    product_q8_rows<2>(m, a, a_stride, b, b_stride, depth, c, c_stride, next);
  if (columns) product_q8_rows<1>(m, a, a_stride, b, b_stride, depth, c, c_stride, next);
}

/// Computes M rows and 8N columns of a PairProduct.
template <int M, int N>
SYRINX_INLINE void pair_tile(const PairProduct<float>& p, const float* a, const uint16_t* b,
                             float* c) {
  V8 acc[M][N];
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) acc[i][j] = p.add ? load(c + i * p.c_stride + 8 * j) : all(0);
  for (int64_t k = 0; k < p.depth; ++k) {
    FloatPairs y[N];
    for (int j = 0; j < N; ++j) y[j] = load_bf16_pairs(b + k * p.b_stride + 16 * j);
    for (int i = 0; i < M; ++i) {
      const V8 first = all(a[i * p.kAStride + 2 * k]), second = all(a[i * p.kAStride + 2 * k + 1]);
      for (int j = 0; j < N; ++j)
        acc[i][j] = fma(first, y[j].first, fma(second, y[j].second, acc[i][j]));
    }
  }
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) store(c + i * p.c_stride + 8 * j, acc[i][j]);
}

template <int N>
SYRINX_INLINE void pair_rows(const PairProduct<float>& p, int64_t column) {
  const float* a = p.a;
  const uint16_t* b = p.b + 2 * column;
  float* c = p.c + column;
  int left = p.rows;
  for (; left >= 4; left -= 4, a += 4 * p.kAStride, c += 4 * p.c_stride)
    pair_tile<4, N>(p, a, b, c);
  for (; left > 0; --left, a += p.kAStride, c += p.c_stride) pair_tile<1, N>(p, a, b, c);
}

void pair_product(const PairProduct<float>& p) {
  int64_t column = 0;
  for (; column + 16 <= p.columns; column += 16) pair_rows<2>(p, column);
  if (column < p.columns) pair_rows<1>(p, column);
}

/// Positions that are processed together.
struct Block {
  const char* pages[kBlock / kRows];  ///< the keys of each page from `skip` on
  int64_t skip, count;                ///< of the positions, [skip, count) are in the cache
  int width;                          ///< `count`, rounded up to whole pages
};

/// What the scores of one row need to become weights.
struct SoftmaxRow {
  int64_t low, high;   ///< the row attends to positions [low, high) of the block
  const float* slope;  ///< [width], added to the scores; may be null
  float *top, *total;  ///< the largest score, and the sum of e^(score - top), so far
  float keep;          ///< the factor by which results of earlier blocks must be multiplied
};

/// Applies cap and slope to scores [j, j + 8), which are multiplied by AttentionTile::scale.
SYRINX_INLINE V8 shaped(V8 x, int j, const SoftmaxRow& row, const AttentionTile& t) {
  if (t.cap > 0) x = mul(all(t.cap), tanh(mul(x, all(1 / t.cap))));
  if (row.slope) x = add(x, load(row.slope + j));
  return x;
}

/// Replaces values at positions [j, j + 8) to which the row does not attend.
SYRINX_INLINE V8 limited(V8 x, int j, const SoftmaxRow& row, V8 other) {
  if (j >= row.low && j + 8 <= row.high) return x;
  return select(lanes_within(j, row.low, row.high), x, other);
}

/// Updates the sums of a row: `higher` is the largest score, `mass` the sum of the new weights.
SYRINX_INLINE void update(SoftmaxRow& row, float higher, V8 mass) {
  row.keep = first(exp(all(*row.top - higher)));
  *row.total = first(fma(all(*row.total), all(row.keep), all(sum(mass))));
  *row.top = higher;
}

/// Replaces the scores of one block by weights e^(score - top), and 0 for positions outside [low,
/// high).
SYRINX_INLINE void softmax_block(float* s, int width, const AttentionTile& t, SoftmaxRow& row) {
  const V8 f = all(t.scale);
  V8 peak = all(*row.top);
  for (int j = 0; j < width; j += 8) {
    const V8 x = limited(shaped(mul(load(s + j), f), j, row, t), j, row, all(-INFINITY));
    store(s + j, x);
    peak = max(x, peak);
  }
  const float higher = largest(peak);
  const V8 shift = all(higher);
  V8 mass = all(0);
  for (int j = 0; j < width; j += 8) {
    const V8 w = exp_of_negative(sub(load(s + j), shift));
    store(s + j, w);
    mass = add(mass, w);
  }
  update(row, higher, mass);
}

/// A cache of f32 or f16. q and the weights are f32.
template <typename Type>
class FloatCache {
 public:
  using T = typename Type::T;
  using Score = float;

  explicit FloatCache(const AttentionTile& t) : vectors_(t.rows * t.group), dim_(t.dim) {
    for (int i = 0; i < vectors_; ++i) {
      const float* from = t.q + (i / t.group) * t.q_stride + int64_t{i % t.group} * dim_;
      std::copy_n(from, dim_, q_ + i * dim_);
    }
  }

  static const char* values(const char* keys, int dim) {
    return keys + sizeof(T) * kRows * static_cast<size_t>(dim);
  }

  /// Computes the scores of one page, not yet scaled. scores [vectors][kBlock].
  void score(const char* keys, const char* next, float* scores) const {
    for (int i = 0; i < vectors_; ++i)
      for (int j = 0; j < kRows; j += 8) store(scores + i * kBlock + j, all(0));
    product_any<Type>(vectors_, kRows, q_, dim_, at(keys), kRows, dim_, scores, kBlock, at(next));
  }

  /// Replaces the scores of a block by weights.
  void weigh(float* scores, const Block& block, const AttentionTile& t, SoftmaxRow* rows) {
    for (int i = 0; i < vectors_; ++i) softmax_block(scores + i * kBlock, block.width, t, rows[i]);
  }

  /// Adds to mixed [vectors][dim] the weights from position p of the block on, times the first
  /// `count` values of the page.
  void mix(const float* weights, int64_t p, const char* values, const char* next, int64_t count,
           float* mixed) const {
    product_any<Type>(vectors_, dim_, weights + p, kBlock, at(values), dim_, count, mixed, dim_,
                      at(next));
  }

  bool attend(const Block&, const AttentionTile&, const SoftmaxRow*, float*) { return false; }
  void end_mix(float*) const {}

 private:
  static const T* at(const char* p) { return reinterpret_cast<const T*>(p); }
  int vectors_, dim_;
  alignas(64) float q_[kVectors * kDim];
};

/// Stores 8 numbers, rounded to bf16.
SYRINX_INLINE void store_rounded(uint16_t* p, V8 v) { store_bf16(p, v); }
SYRINX_INLINE void store_rounded(float* p, V8 v) { store(p, to_bf16(v)); }

/// A cache of bf16. q and the weights are rounded to bf16 and stored as Number.
template <typename Number>
class PairCache {
 public:
  using Product = PairProduct<Number>;
  using Score = float;

  PairCache(const AttentionTile& t, void (*product)(const Product& p))
      : vectors_(t.rows * t.group), dim_(t.dim), product_(product) {
    for (int i = 0; i < vectors_; ++i) {
      const float* from = t.q + (i / t.group) * t.q_stride + int64_t{i % t.group} * dim_;
      for (int d = 0; d < dim_; d += 8) store_rounded(q_ + i * kStride + d, load(from + d));
    }
  }

  static const char* values(const char* keys, int dim) { return keys + kRows * 2 * dim; }

  void score(const char* keys, const char*, float* scores) const {
    product_({q_, at(keys), scores, 2 * kRows, kBlock, vectors_, kRows, dim_ / 2});
  }

  void weigh(float* scores, const Block& block, const AttentionTile& t, SoftmaxRow* rows) {
    for (int i = 0; i < vectors_; ++i) {
      softmax_block(scores + i * kBlock, block.width, t, rows[i]);
      for (int64_t p = block.skip; p < block.count; p += 8)
        store_rounded(weights_ + i * kStride + p, load(scores + i * kBlock + p));
    }
  }

  void mix(const float*, int64_t p, const char* values, const char*, int64_t count,
           float* mixed) const {
    const int64_t pairs = count / 2;
    Product call{weights_ + p, at(values), mixed, 2 * dim_, dim_, vectors_, dim_, pairs, true};
    product_(call);
    if (count % 2 == 0) return;
    // The row behind the last one was never written and may be NaN, so it is replaced by zeros.
    alignas(64) uint16_t last[2 * kDim];
    for (int d = 0; d < dim_; ++d) {
      last[2 * d] = call.b[pairs * call.b_stride + 2 * d];
      last[2 * d + 1] = 0;
    }
    call.a += 2 * pairs, call.b = last, call.depth = 1;
    product_(call);
  }

  bool attend(const Block&, const AttentionTile&, const SoftmaxRow*, float*) { return false; }
  void end_mix(float*) const {}

 private:
  static const uint16_t* at(const char* p) { return reinterpret_cast<const uint16_t*>(p); }
  static constexpr int64_t kStride = Product::kAStride;
  int vectors_, dim_;
  void (*product_)(const Product& p);
  alignas(64) Number q_[kVectors * kStride];
  alignas(64) Number weights_[kVectors * kStride];
};

/// A cache of 8-bit numbers with one scale per row: sums of products are exact integers. q and the
/// weights have 8 bits if the tile requests it, else 16.
class Q8Cache {
 public:
  using Score = int32_t;  // a sum of products, without the scales

  explicit Q8Cache(const AttentionTile& t)
      : vectors_(t.rows * t.group),
        dim_(t.dim),
        bytes_(t.bytes),
        product_(vectors_ < kFewVectors ? nullptr : t.word_product),
        attend_bytes_(!bytes_ || vectors_ < kFewVectors || t.cap > 0 || t.slopes ? nullptr
                                                                                 : t.attend_bytes) {
    for (int i = 0; i < vectors_; ++i) {
      const float* from = t.q + (i / t.group) * t.q_stride + int64_t{i % t.group} * dim_;
      if (attend_bytes_) {
        int8_t* q = q_.bytes + i * ByteRow::kStride;
        q_scale_[i] = to_int8(from, dim_, q);
        start_[i] = -128 * std::accumulate(q, q + dim_, 0);
      } else {
        q_scale_[i] = to_int16(from, dim_, bytes_ ? 127 : 32767, q_.words + i * kStride);
      }
    }
  }

  static const char* values(const char* keys, int dim) { return keys + kRows * (dim + 4); }

  void score(const char* keys, const char* next, int32_t* scores) const {
    ask_for_scales(next);
    const bool add = false;
    multiply({q_.words, at(keys), scores, 2 * kRows, kBlock, vectors_, kRows, dim_ / 2, add}, next);
  }

  /// Computes the block as a whole, if the processor has an instruction for it.
  bool attend(const Block& from, const AttentionTile& t, const SoftmaxRow* rows, float* mixed) {
    if (!attend_bytes_) return false;
    ByteBlock block;
    copy_scales(from, block);
    block.dim = dim_;
    for (int64_t p = from.skip; p < from.count; p += kRows) {
      block.keys[p / kRows] = at(from.pages[p / kRows]);
      block.values[p / kRows] = at(values(from.pages[p / kRows], dim_));
    }
    ByteRow row[kVectors];
    for (int i = 0; i < vectors_; ++i) {
      set(i, t, rows[i], row[i]);
      row[i].q = q_.bytes + i * ByteRow::kStride;
      row[i].start = start_[i];
      row[i].mixed = mixed + i * dim_;
    }
    attend_bytes_(block, row, vectors_);
    return true;
  }

  /// Computes the weights of the block times the scales of its values.
  void weigh(const int32_t* scores, const Block& from, const AttentionTile& t, SoftmaxRow* rows) {
    Q8Block block;
    copy_scales(from, block);
    Q8Row row[kVectors];
    for (int i = 0; i < vectors_; ++i) {
      set(i, t, rows[i], row[i]);
      row[i].sums = scores + i * kBlock;
      row[i].weights = weights_ + i * kStride;
    }
    if (t.q8_weights && t.cap == 0 && !t.slopes) {
      t.q8_weights(block, row, vectors_);
    } else {
      for (int i = 0; i < vectors_; ++i)
        weigh_row(block, row[i], q_scale_[i] * t.scale, t, rows[i]);
    }
    for (int i = 0; i < vectors_; ++i) {
      rows[i].keep = row[i].keep;
      unit_[i] = row[i].unit;
    }
    std::fill_n(sums_, vectors_ * dim_, 0);
  }

  void mix(const int32_t*, int64_t p, const char* values, const char* next, int64_t count, float*) {
    ask_for_scales(next);
    const int64_t pairs = (count + 1) / 2;
    const bool add = true;
    multiply({weights_ + p, at(values), sums_, 2 * dim_, dim_, vectors_, dim_, pairs, add}, next);
  }

  void end_mix(float* mixed) const {
    for (int i = 0; i < vectors_; ++i)
      for (int d = 0; d < dim_; d += 8) {
        float* to = mixed + i * dim_ + d;
        const V8 part = to_float(load(sums_ + i * dim_ + d));
        store(to, fma(part, all(unit_[i]), load(to)));
      }
  }

 private:
  using Product = PairProduct<int16_t>;
  static constexpr int64_t kStride = Product::kAStride;
  /// With fewer vectors the time is that of reading the cache, which product_q8() prefetches.
  static constexpr int kFewVectors = 4;

  static const int8_t* at(const char* p) { return reinterpret_cast<const int8_t*>(p); }
  void multiply(const Product& p, const char* next) const {
    if (product_) return product_(p);
    for (int i = 0; !p.add && i < p.rows; ++i) std::fill_n(p.c + i * p.c_stride, p.columns, 0);
    product_q8(p.rows, p.columns, p.a, kStride, reinterpret_cast<const char*>(p.b), p.b_stride,
               p.depth, p.c, p.c_stride, next);
  }
  /// Sets all but the memory of the row.
  void set(int i, const AttentionTile& t, const SoftmaxRow& from, Q8Row& row) const {
    row.scale = q_scale_[i] * t.scale * kLog2E;
    row.low = from.low, row.high = from.high;
    row.top = from.top, row.total = from.total;
  }

  /// Copies the scales that follow the numbers of each page.
  void copy_scales(const Block& from, Q8Block& to) const {
    to.width = from.width;
    copy_scales(from, 0, to.key_scales);
    copy_scales(from, kRows * (dim_ + 4), to.value_scales);
    to.most = bytes_ ? 255 : 32767;
  }
  /// A row that was never written may have any scale, even NaN, so its scale becomes 0. `part`:
  /// distance of the numbers from the page's keys, in bytes.
  void copy_scales(const Block& from, int64_t part, float* to) const {
    std::fill_n(to, from.skip, 0.f);
    for (int64_t p = from.skip; p < from.count; p += kRows)
      std::memcpy(to + p, from.pages[p / kRows] + part + kRows * dim_, sizeof(float) * kRows);
    std::fill(to + from.count, to + from.width, 0.f);
  }

  /// Computes the weights of one row. `unit`: value of one unit of q, times AttentionTile::scale.
  static void weigh_row(const Q8Block& block, Q8Row& row, float unit, const AttentionTile& t,
                        const SoftmaxRow& softmax) {
    const bool plain = t.cap == 0 && !softmax.slope;
    alignas(64) float x[kBlock];
    V8 highest = all(-FLT_MAX);
    I8 bits = all_int(0);
    for (int j = 0; j < block.width; j += 8) {
      V8 s = mul(to_float(load(row.sums + j)), load(block.key_scales + j));
      if (!plain) s = shaped(mul(s, all(unit)), j, softmax, t);
      store(x + j, s);
      highest = max(limited(s, j, softmax, highest), highest);
      bits = max(bits, magnitude_bits(limited(load(block.value_scales + j), j, softmax, all(0))));
    }
    const float scale = plain ? row.scale : kLog2E, top = largest(highest) * scale;
    const float largest_scale = largest_bits(bits);
    const V8 f = all(largest_scale > 0 ? block.most / largest_scale : 0.f);
    V8 mass[2] = {all(0), all(0)};
    for (int j = 0; j < block.width; j += 8) {
      V8 w = exp2_of_negative(fma(load(x + j), all(scale), all(-top)));
      w = limited(w, j, softmax, all(0));
      mass[j / 8 % 2] = add(mass[j / 8 % 2], w);
      store_int16(row.weights + j, mul(w, mul(load(block.value_scales + j), f)));
    }
    const float higher = top > *row.top ? top : *row.top;
    row.keep = first(exp2_of_negative(all(*row.top - higher)));
    const float part = first(exp2_of_negative(all(top - higher)));
    *row.total = std::fma(*row.total, row.keep, sum(add(mass[0], mass[1])) * part);
    *row.top = higher;
    row.unit = largest_scale * (1.f / block.most) * part;
  }

  void ask_for_scales(const char* part) const {
    ask_for(part + kRows * dim_);
    ask_for(part + kRows * dim_ + 64);
  }
  int vectors_, dim_;
  bool bytes_;
  void (*product_)(const Product& p);
  void (*attend_bytes_)(const ByteBlock& block, ByteRow* rows, int count);
  float q_scale_[kVectors], unit_[kVectors];
  int32_t start_[kVectors];  // ByteRow::start
  union {
    alignas(64) int16_t words[kVectors * kStride];
    int8_t bytes[kVectors * ByteRow::kStride];  // for attend_bytes_
  } q_;
  alignas(64) int16_t weights_[kVectors * kStride];
  alignas(64) int32_t sums_[kVectors * kDim];
};

template <typename Cache>
void attend_as(const AttentionTile& t, auto... product) {
  const int vectors = t.rows * t.group, dim = t.dim;
  Cache cache(t, product...);
  alignas(64) float mixed[kVectors * kDim], sloped[kVectors * kBlock];
  alignas(64) typename Cache::Score scores[kVectors * kBlock];
  float top[kVectors], total[kVectors];
  std::fill_n(mixed, vectors * dim, 0.f);
  std::fill_n(top, vectors, -FLT_MAX);
  std::fill_n(total, vectors, 0.f);
  const int64_t last = t.last(t.rows - 1);
  for (int64_t start = t.first(0) / kBlock * kBlock; start < last; start += kBlock) {
    // Skips pages before the window, which may have been released. Their weights are 0.
    const int64_t skip = std::max<int64_t>(t.first(0) - start, 0) / kRows * kRows;
    const int64_t count = std::min<int64_t>(last - start, kBlock);
    const int width = static_cast<int>((count + kRows - 1) / kRows * kRows);
    Block block{{}, skip, count, width};
    // While the keys of a page are processed, its values are prefetched; while its values are
    // processed, the keys of the page four pages later (in the next block) are prefetched. They are
    // prefetched into L2, because L1 allows too few outstanding loads.
    const char* later[kBlock / kRows];
    for (int64_t p = skip; p < count; p += kRows) {
      const int64_t i = p / kRows, index = start / kRows + i;
      block.pages[i] = later[i] = t.page(index);
      if (start + p + kBlock < last) {
        later[i] = t.page(index + kBlock / kRows);
      } else if (start + kBlock >= last && t.next_head && t.next_page + i < t.next_end) {
        later[i] = t.next_head + t.next_table[t.place(t.next_page + i)] * t.page_bytes;
      }
    }
    SoftmaxRow rows[kVectors];
    for (int i = 0; i < vectors; ++i) {
      const int row = i / t.group;
      float* slope = t.slopes ? sloped + i * kBlock : nullptr;
      for (int j = 0; slope && j < width; ++j)
        slope[j] = t.slopes[i % t.group] * static_cast<float>(start + j - t.position - row);
      rows[i] = {t.first(row) - start, t.last(row) - start, slope, top + i, total + i, 1};
    }
    if (cache.attend(block, t, rows, mixed)) continue;
    const auto values = [&](int64_t p) { return Cache::values(block.pages[p / kRows], dim); };
    for (int i = 0; i < vectors; ++i) std::fill_n(scores + i * kBlock, skip, 0);
    for (int64_t p = skip; p < count; p += kRows)
      cache.score(block.pages[p / kRows], values(p), scores + p);
    cache.weigh(scores, block, t, rows);
    for (int i = 0; i < vectors; ++i)
      for (int d = 0; rows[i].keep != 1.f && d < dim; d += 8)
        store(mixed + i * dim + d, mul(load(mixed + i * dim + d), all(rows[i].keep)));
    for (int64_t p = skip; p < count; p += kRows)
      cache.mix(scores, p, values(p), later[p / kRows], std::min<int64_t>(kRows, count - p), mixed);
    cache.end_mix(mixed);
  }
  for (int i = 0; i < vectors; ++i) {
    float* to = t.out + (i / t.group) * t.out_stride + int64_t{i % t.group} * dim;
    const V8 f = all(1.f / total[i]);
    for (int d = 0; d < dim; d += 8) store(to + d, mul(load(mixed + i * dim + d), f));
  }
}

}  // namespace

void attend(const AttentionTile& t) {
  switch (t.dtype) {
    case DType::kF32:
      return attend_as<FloatCache<F32>>(t);
    case DType::kF16:
      return attend_as<FloatCache<F16>>(t);
    case DType::kI8:
      return attend_as<Q8Cache>(t);
    default:
      if (t.dot_product) return attend_as<PairCache<uint16_t>>(t, t.dot_product);
      return attend_as<PairCache<float>>(t, t.pair_product ? t.pair_product : &pair_product);
  }
}

}  // namespace syrinx::simd
#include "kernels/cpu/simd_end.h"
