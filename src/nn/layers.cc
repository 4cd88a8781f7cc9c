#include "nn/layers.h"

#include <cstring>

#include "base/float16.h"
#include "base/memory.h"
#include "tensor/finite.h"

namespace syrinx {

Embedding::Embedding(const Weights& weights, int64_t count, int64_t width, DType keep_as) {
  SYRINX_CHECK(keep_as == DType::kBF16 || keep_as == DType::kF32,
               "[embedding] can only be kept as bf16 or f32, not ", dtype_name(keep_as));
  const View stored = weights.take("weight", {count, width});
  expect_memory(count * width * static_cast<int64_t>(dtype_size(keep_as)));
  table_ = Tensor({count, width}, keep_as);
  if (stored.dtype == keep_as) {
    if (!all_finite(stored, 0, stored.count())) throw NotFinite();
    std::memcpy(table_.view().data, stored.data, stored.bytes());
    return;
  }
  Tensor row({width}, DType::kF32);
  for (int64_t i = 0; i < count; ++i) {
    copy_as_f32(stored, i * width, width, row.f32());
    if (keep_as == DType::kF32) {
      std::memcpy(table_.f32() + i * width, row.f32(), row.bytes());
    } else {
      for (int64_t j = 0; j < width; ++j)
        table_.view().bf16()[i * width + j] = f32_to_bf16(row.f32()[j]);
    }
  }
}

void WeightPlace::move_part(View& table) {
  if (table.empty()) return;
  Tensor& copy = copies_[table.data];
  if (copy.empty()) copy = copy_to(table, device_);
  const Shape shape = table.shape;
  table = copy;
  table.shape = shape;
}

LinearPart take_linear(const Weights& weights, const std::string& name, int64_t out, int64_t in,
                       bool bias) {
  const Weights scope = weights.scope(name);
  return {scope.take("weight", {out, in}), bias ? scope.take("bias", {out}) : View{}};
}

PackedLinear load_linear(const Weights& weights, const std::string& name, int64_t out, int64_t in,
                         bool bias, WeightType type) {
  const LinearPart part = take_linear(weights, name, out, in, bias);
  return PackedLinear::pack(part.weight, type, part.bias);
}

PackedLinear load_linear_scaled(const Weights& weights, const std::string& name, int64_t out,
                                int64_t in, bool bias, const View& gain, WeightType type) {
  LinearPart part = take_linear(weights, name, out, in, bias);
  part.gain = gain;
  return PackedLinear::pack(std::span(&part, 1), type);
}

Tensor transposed(const View& weight) {
  SYRINX_CHECK(weight.shape.dims() == 2, "[transposed] weight must be a matrix, got ",
               weight.shape.str());
  const int64_t in = weight.shape[0], out = weight.shape[1];
  Tensor turned({out, in}, DType::kF32), row({out}, DType::kF32);
  for (int64_t i = 0; i < in; ++i) {
    copy_as_f32(weight, i * out, out, row.f32());
    for (int64_t o = 0; o < out; ++o) turned.f32()[o * in + i] = row.f32()[o];
  }
  return turned;
}

}  // namespace syrinx
