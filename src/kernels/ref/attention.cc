#include "kernels/attention.h"

#include <algorithm>
#include <cmath>

#include "kernels/attention_impl.h"
#include "kernels/ref/half.h"

namespace syrinx::ref {
namespace {

constexpr int kRows = KvPool::kPageRows;

float read(const void* base, int64_t i, DType dtype) {
  if (dtype == DType::kF32) return static_cast<const float*>(base)[i];
  const uint16_t h = static_cast<const uint16_t*>(base)[i];
  return dtype == DType::kF16 ? f16_to_f32(h) : bf16_to_f32(h);
}

void write(void* base, int64_t i, float x, DType dtype) {
  if (dtype == DType::kF32) {
    static_cast<float*>(base)[i] = x;
  } else if (dtype == DType::kF16) {
    static_cast<uint16_t*>(base)[i] = f32_to_f16(std::clamp(x, -65504.f, 65504.f));
  } else {
    static_cast<uint16_t*>(base)[i] = f32_to_bf16(x);
  }
}

void attend_one(const AttentionTile& t, const float* q, int64_t first, int64_t last, float* out) {
  // Online softmax, one position at a time: no scratch that grows with the context.
  double top = -INFINITY, total = 0;
  double mix[AttentionTile::kMaxDim] = {};
  for (int64_t p = first; p < last; ++p) {
    const char* keys = t.page(p / kRows);
    const char* values = keys + int64_t{kRows} * t.dim * dtype_size(t.dtype);
    const int64_t slot = p % kRows;
    double score = 0;
    for (int d = 0; d < t.dim; ++d) score += double{q[d]} * read(keys, d * kRows + slot, t.dtype);
    score *= t.scale;
    const double higher = std::max(top, score);
    const double keep = std::exp(top - higher), weight = std::exp(score - higher);
    top = higher;
    total = total * keep + weight;
    for (int d = 0; d < t.dim; ++d)
      mix[d] = mix[d] * keep + weight * read(values, slot * t.dim + d, t.dtype);
  }
  for (int d = 0; d < t.dim; ++d) out[d] = static_cast<float>(mix[d] / total);
}

}  // namespace

void attend(const AttentionTile& t) {
  for (int i = 0; i < t.rows; ++i)
    for (int g = 0; g < t.group; ++g)
      attend_one(t, t.q + i * t.q_stride + int64_t{g} * t.dim, t.first(i), t.last(i),
                 t.out + i * t.out_stride + int64_t{g} * t.dim);
}

void write_kv_row(const KvRow& row) {
  char* values = row.keys + int64_t{kRows} * row.dim * dtype_size(row.dtype);
  for (int d = 0; d < row.dim; ++d) {
    write(row.keys, int64_t{d} * kRows + row.slot, row.k[d], row.dtype);
    write(values, int64_t{row.slot} * row.dim + d, row.v[d], row.dtype);
  }
}

}  // namespace syrinx::ref
