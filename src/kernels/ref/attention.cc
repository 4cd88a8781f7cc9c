#include "kernels/attention.h"

#include <algorithm>
#include <cmath>

#include "base/float16.h"
#include "kernels/attention_impl.h"

namespace syrinx::ref {
namespace {

constexpr int kRows = KvPool::kPageRows;

/// Return the index of number d of row `slot`, in the keys and in the values. With kI8, a row also
/// has a scale.
int64_t key_at(int d, int64_t slot, DType dtype) {
  return in_pairs(dtype) ? int64_t{d / 2} * 2 * kRows + slot * 2 + d % 2 : d * kRows + slot;
}
int64_t value_at(int d, int64_t slot, int dim, DType dtype) {
  return in_pairs(dtype) ? slot / 2 * 2 * dim + d * 2 + slot % 2 : slot * dim + d;
}
const float* scales(const char* part, int dim) {
  return reinterpret_cast<const float*>(part + int64_t{kRows} * dim);
}

float read(const char* part, int64_t i, int64_t slot, int dim, DType dtype) {
  if (dtype == DType::kF32) return reinterpret_cast<const float*>(part)[i];
  if (dtype == DType::kI8)
    return static_cast<float>(static_cast<int8_t>(part[i])) * scales(part, dim)[slot];
  const uint16_t h = reinterpret_cast<const uint16_t*>(part)[i];
  return dtype == DType::kF16 ? f16_to_f32(h) : bf16_to_f32(h);
}

void write(char* part, int64_t i, float x, DType dtype) {
  if (dtype == DType::kF32) {
    reinterpret_cast<float*>(part)[i] = x;
  } else if (dtype == DType::kF16) {
    const float inside = std::isnan(x) ? x : std::clamp(x, -65504.f, 65504.f);
    reinterpret_cast<uint16_t*>(part)[i] = f32_to_f16(inside);
  } else if (dtype == DType::kI8) {
    part[i] = static_cast<char>(std::isnan(x) ? 0 : std::lrint(x));
  } else {
    reinterpret_cast<uint16_t*>(part)[i] = f32_to_bf16(x);
  }
}

/// Prepares a row for 8 bits: stores its scale, and returns the factor for its numbers.
float scale_row(char* part, const float* x, int dim, int slot) {
  float top = 0;
  for (int d = 0; d < dim; ++d) top = std::max(top, std::fabs(x[d]));
  for (int d = 0; d < dim; ++d)
    if (std::isnan(x[d])) top = x[d];
  const_cast<float*>(scales(part, dim))[slot] = top * (1.f / 127);
  return top > 0 ? 127.f / top : 0.f;
}

/// Computes row `i` for head `g` of a tile.
void attend_one(const AttentionTile& t, int i, int g) {
  const float* q = t.q + i * t.q_stride + int64_t{g} * t.dim;
  float* out = t.out + i * t.out_stride + int64_t{g} * t.dim;
  const double slope = t.slopes ? t.slopes[g] : 0;
  // Online softmax, one position at a time, so that scratch memory does not grow with the context.
  double top = -INFINITY, total = 0;
  double mix[AttentionTile::kMaxDim] = {};
  for (int64_t p = t.first(i); p < t.last(i); ++p) {
    const char* keys = t.page(p / kRows);
    const char* values = keys + kv_part_bytes(t.dim, t.dtype);
    const int64_t slot = p % kRows;
    double score = 0;
    for (int d = 0; d < t.dim; ++d)
      score += double{q[d]} * read(keys, key_at(d, slot, t.dtype), slot, t.dim, t.dtype);
    score *= t.scale;
    if (t.cap > 0) score = t.cap * std::tanh(score / t.cap);
    score += slope * static_cast<double>(p - t.position - i);
    const double higher = std::max(top, score);
    const double keep = std::exp(top - higher), weight = std::exp(score - higher);
    top = higher;
    total = total * keep + weight;
    for (int d = 0; d < t.dim; ++d)
      mix[d] = mix[d] * keep +
               weight * read(values, value_at(d, slot, t.dim, t.dtype), slot, t.dim, t.dtype);
  }
  for (int d = 0; d < t.dim; ++d) out[d] = static_cast<float>(mix[d] / total);
}

}  // namespace

void attend(const AttentionTile& t) {
  for (int i = 0; i < t.rows; ++i)
    for (int g = 0; g < t.group; ++g) attend_one(t, i, g);
}

void write_kv_rows(const KvRows& rows) {
  char* values = rows.keys + kv_part_bytes(rows.dim, rows.dtype);
  for (int i = 0; i < rows.count; ++i) {
    const int slot = rows.slot + i;
    const float *k = rows.k + i * rows.k_stride, *v = rows.v + i * rows.v_stride;
    float by_k = 1, by_v = 1;
    if (rows.dtype == DType::kI8) {
      by_k = scale_row(rows.keys, k, rows.dim, slot);
      by_v = scale_row(values, v, rows.dim, slot);
    }
    for (int d = 0; d < rows.dim; ++d) {
      write(rows.keys, key_at(d, slot, rows.dtype), k[d] * by_k, rows.dtype);
      write(values, value_at(d, slot, rows.dim, rows.dtype), v[d] * by_v, rows.dtype);
    }
  }
}

}  // namespace syrinx::ref
