#include <cstring>

#include "kernels/attention.h"
#include "kernels/attention_impl.h"
// clang-format off
#include "kernels/cpu/simd_begin.h"
#include "kernels/cpu/simd.h"
// clang-format on

namespace syrinx::simd {
namespace {

constexpr int kPageRows = KvPool::kPageRows;
constexpr int kMostDim = AttentionTile::kMaxDim;

/// Converts to f16: to nearest even, saturating at +-65504; NaN stays NaN. count % 8 == 0.
SYRINX_INLINE void to_f16(const float* x, int count, uint16_t* out) {
  for (int i = 0; i < count; i += 8) {
    store_f16(out + i, max(all(-65504.f), min(all(65504.f), load(x + i))));
  }
}

/// Writes one row of a cache of f32, f16 or bf16.
void write_row(const KvRows& to, const float* k, const float* v, int slot) {
  alignas(64) uint16_t half[kMostDim];
  const int dim = to.dim;
  if (to.dtype == DType::kBF16) {
    auto* pairs = reinterpret_cast<uint16_t*>(to.keys);
    for (int d = 0; d < dim; d += 8) store_bf16(half + d, load(k + d));
    for (int d = 0; d < dim; ++d) pairs[d / 2 * 2 * kPageRows + 2 * slot + d % 2] = half[d];
    for (int d = 0; d < dim; d += 8) store_bf16(half + d, load(v + d));
    uint16_t* values = pairs + kPageRows * dim + slot / 2 * 2 * dim + slot % 2;
    for (int d = 0; d < dim; ++d) values[2 * d] = half[d];
    return;
  }
  if (to.dtype == DType::kF16) {
    auto* keys = reinterpret_cast<uint16_t*>(to.keys);
    to_f16(k, dim, half);
    for (int d = 0; d < dim; ++d) keys[d * kPageRows + slot] = half[d];
    to_f16(v, dim, keys + (kPageRows + slot) * dim);
    return;
  }
  auto* keys = reinterpret_cast<float*>(to.keys);
  for (int d = 0; d < dim; ++d) keys[d * kPageRows + slot] = k[d];
  std::memcpy(keys + (kPageRows + slot) * dim, v, sizeof(float) * dim);
}

using ByteVector = uint8_t __attribute__((vector_size(16)));
using WordVector = uint16_t __attribute__((vector_size(16)));
using DoubleWords = uint32_t __attribute__((vector_size(16)));
using QuadWords = uint64_t __attribute__((vector_size(16)));

SYRINX_INLINE QuadWords load_8_bytes(const int8_t* p) {
  uint64_t bytes;
  std::memcpy(&bytes, p, 8);
  return QuadWords{bytes, 0};
}

/// Writes 4 pairs of 8 rows, whose distance is `step` bytes: for each pair the pairs of all rows.
SYRINX_INLINE void turn_pairs(const int8_t* from, int step, uint16_t* to) {
  DoubleWords two[4];
  for (int i = 0; i < 4; ++i) {
    const auto a = reinterpret_cast<WordVector>(load_8_bytes(from + 2 * i * step));
    const auto b = reinterpret_cast<WordVector>(load_8_bytes(from + (2 * i + 1) * step));
    two[i] = reinterpret_cast<DoubleWords>(__builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11));
  }
  for (int high = 0; high < 2; ++high) {
    QuadWords four[2];
    for (int i = 0; i < 2; ++i) {
      const DoubleWords a = two[2 * i], b = two[2 * i + 1];
      four[i] = reinterpret_cast<QuadWords>(high ? __builtin_shufflevector(a, b, 2, 6, 3, 7)
                                                 : __builtin_shufflevector(a, b, 0, 4, 1, 5));
    }
    const QuadWords eight[2] = {__builtin_shufflevector(four[0], four[1], 0, 2),
                                __builtin_shufflevector(four[0], four[1], 1, 3)};
    std::memcpy(to + 2 * high * kPageRows, &eight[0], 16);
    std::memcpy(to + (2 * high + 1) * kPageRows, &eight[1], 16);
  }
}

/// Writes keys [count][dim] to rows [slot, slot + count) of a page, where pairs of all rows follow
/// each other.
void write_byte_keys(const int8_t* k, int dim, int slot, int count, char* keys) {
  auto* pairs = reinterpret_cast<uint16_t*>(keys);
  int i = 0;
  for (; i + 8 <= count; i += 8)
    for (int d = 0; d < dim; d += 8)
      turn_pairs(k + i * dim + d, dim, pairs + d / 2 * kPageRows + slot + i);
  for (; i < count; ++i)
    for (int d = 0; d < dim; d += 2)
      std::memcpy(pairs + d / 2 * kPageRows + slot + i, k + i * dim + d, 2);
}

/// Writes values [count][dim] to rows [slot, slot + count) of a page, where two rows alternate.
void write_byte_values(const int8_t* v, int dim, int slot, int count, char* values) {
  int i = 0;
  while (i < count) {
    char* to = values + int64_t{slot + i} / 2 * 2 * dim;
    const int8_t* from = v + i * dim;
    if ((slot + i) % 2 == 0 && i + 2 <= count) {
      for (int d = 0; d < dim; d += 8) {
        const auto a = reinterpret_cast<ByteVector>(load_8_bytes(from + d)),
                   b = reinterpret_cast<ByteVector>(load_8_bytes(from + dim + d));
        const ByteVector both =
            __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
        std::memcpy(to + 2 * d, &both, 16);
      }
      i += 2;
    } else {
      for (int d = 0; d < dim; ++d) to[2 * d + (slot + i) % 2] = static_cast<char>(from[d]);
      ++i;
    }
  }
}

void write_bytes(const KvRows& rows) {
  alignas(64) int8_t bytes[kPageRows * kMostDim];
  const int dim = rows.dim;
  char* values = rows.keys + kPageRows * (dim + 4);
  auto* scales = reinterpret_cast<float*>(rows.keys + kPageRows * dim) + rows.slot;
  for (int i = 0; i < rows.count; ++i)
    scales[i] = to_int8(rows.k + i * rows.k_stride, dim, bytes + i * dim);
  write_byte_keys(bytes, dim, rows.slot, rows.count, rows.keys);
  scales = reinterpret_cast<float*>(values + kPageRows * dim) + rows.slot;
  for (int i = 0; i < rows.count; ++i)
    scales[i] = to_int8(rows.v + i * rows.v_stride, dim, bytes + i * dim);
  write_byte_values(bytes, dim, rows.slot, rows.count, values);
}

}  // namespace

void write_kv_rows(const KvRows& rows) {
  if (rows.dtype == DType::kI8) return write_bytes(rows);
  for (int i = 0; i < rows.count; ++i)
    write_row(rows, rows.k + i * rows.k_stride, rows.v + i * rows.v_stride, rows.slot + i);
}

}  // namespace syrinx::simd
#include "kernels/cpu/simd_end.h"
