#include "nn/binary_head.h"

#include <algorithm>

namespace syrinx {

PackedLinear load_binary_head(const Weights& weights, const std::string& name, int64_t hidden,
                              float zero, WeightType type) {
  const LinearPart part = take_linear(weights, name, 1, hidden, true);
  const Tensor both({2, hidden}, DType::kF32), bias({2}, DType::kF32);
  std::fill_n(both.f32(), hidden, 0.f);
  copy_as_f32(part.weight, 0, hidden, both.f32() + hidden);
  bias.f32()[0] = zero;
  copy_as_f32(part.bias, 0, 1, bias.f32() + 1);
  return PackedLinear::pack(both, type, bias);
}

}  // namespace syrinx
