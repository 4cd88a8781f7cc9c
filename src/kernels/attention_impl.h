// The unit of work of paged attention on raw pointers, portable and for AVX2: a few consecutive
// rows of one sequence, for the query heads that share one kv head.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/pair_product.h"
#include "kernels/cpu/q8_weights.h"
#include "tensor/tensor.h"

namespace syrinx {

/// Query vectors of some rows and heads that share keys and values.
struct AttentionTile {
  static constexpr int kMaxVectors = 12;  ///< limit of rows * group
  static constexpr int kMaxDim = 256;

  /// the query of the first row and head; the next head follows after dim floats
  const float* q = nullptr;
  int64_t q_stride = 0;  ///< distance between rows, in floats
  float* out = nullptr;  ///< same layout as q, with out_stride
  int64_t out_stride = 0;
  int rows = 0, group = 0, dim = 0;
  int64_t position = 0;        ///< position of the first row
  int64_t kv_len = 0;          ///< number of positions of the sequence
  const char* head = nullptr;  ///< keys of this kv head in page 0 of this layer
  int64_t page_bytes = 0;      ///< distance between the keys of this head in successive pages
  const int32_t* table = nullptr;
  int max_pages = 0;
  DType dtype = DType::kF32;
  bool bytes = false;  ///< KvSpec::byte_products
  float scale = 1;
  float cap = 0;
  const float* slopes = nullptr;  ///< AttentionSpec::slopes of the group; may be null
  int window = 0;
  bool causal = true;
  int64_t begin = 0, end = INT64_MAX;  ///< positions to which rows may attend
  /// The product for a cache of bf16; null: that of simd.h's vectors.
  void (*pair_product)(const PairProduct<float>& p) = nullptr;
  /// Replaces pair_product if the processor's dot products are quicker; otherwise null.
  void (*dot_product)(const PairProduct<uint16_t>& p) = nullptr;
  /// The product for many vectors and a cache of 8 bits; null: that of simd.h's vectors.
  void (*word_product)(const PairProduct<int16_t>& p) = nullptr;
  /// The steps of a block for many vectors, a cache of 8 bits and `bytes`, without cap and slopes;
  /// null: by the functions above and below.
  void (*attend_bytes)(const ByteBlock& block, ByteRow* rows, int count) = nullptr;
  /// The weights of a cache of 8 bits without cap and slopes; null: by simd.h's vectors.
  void (*q8_weights)(const Q8Block& block, Q8Row* rows, int count) = nullptr;

  /// The memory that this thread will probably read next. It is only prefetched here. Null if it is
  /// not known.
  const char* next_head = nullptr;
  const int32_t* next_table = nullptr;
  int64_t next_page = 0, next_end = 0;  ///< the next pages: [next_page, next_end)

  /// Each returns a bound of the range [first, last) of positions to which row i attends.
  int64_t last(int i) const { return std::min(causal ? position + i + 1 : kv_len, end); }
  int64_t first(int i) const {
    return window == 0 ? begin : std::max(position + i + 1 - window, begin);
  }
  const char* page(int64_t index) const { return head + table[place(index)] * page_bytes; }
  int64_t place(int64_t index) const { return index < max_pages ? index : index % max_pages; }
};

/// Returns whether the numbers of a page are stored in pairs, next to each other.
inline bool in_pairs(DType dtype) { return dtype == DType::kI8 || dtype == DType::kBF16; }

/// Returns the bytes of the keys (or the values) of one head in one page. For kI8 they include an
/// f32 scale per row.
inline int64_t kv_part_bytes(int dim, DType dtype) {
  constexpr int64_t kRows = 32;
  return kRows * (dim * static_cast<int64_t>(dtype_size(dtype)) + (dtype == DType::kI8 ? 4 : 0));
}

/// Keys and values of one head to write to rows [slot, slot + count) of a page.
struct KvRows {
  const float* k = nullptr;
  const float* v = nullptr;
  int64_t k_stride = 0, v_stride = 0;  ///< distances between rows, in floats
  char* keys = nullptr;  ///< keys of the page; its values follow after kv_part_bytes()
  int dim = 0;
  int slot = 0, count = 1;
  DType dtype = DType::kF32;
};

namespace ref {
void attend(const AttentionTile& tile);
void write_kv_rows(const KvRows& rows);
}  // namespace ref
#if defined(__x86_64__) || defined(__aarch64__)
namespace simd {
void attend(const AttentionTile& tile);
void write_kv_rows(const KvRows& rows);
}  // namespace simd
#else
namespace simd = ref;
#endif

}  // namespace syrinx
