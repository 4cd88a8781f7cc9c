#include "nn/weight_norm.h"

#include <cmath>

namespace syrinx {

Tensor folded_weight(const Weights& weights, const Shape& shape, const std::string& name) {
  std::string gain = name + "_g", direction = name + "_v";
  if (!weights.has(gain) && !weights.has(direction)) {
    gain = "parametrizations." + name + ".original0";
    direction = "parametrizations." + name + ".original1";
    if (!weights.has(gain) && !weights.has(direction)) return weights.f32(name, shape);
  }
  const int64_t rows = shape[0], size = rows > 0 ? shape.count() / rows : 0;
  Shape gains{rows};
  if (shape.dims() == 2) gains = {rows, 1};
  if (shape.dims() == 3) gains = {rows, 1, 1};
  const Tensor g = weights.f32(gain, gains);
  Tensor w = weights.f32(direction, shape);
  for (int64_t r = 0; r < rows; ++r) {
    float* row = w.f32() + r * size;
    double power = 0;
    for (int64_t i = 0; i < size; ++i) power += double{row[i]} * row[i];
    const double factor = power > 0 ? g.f32()[r] / std::sqrt(power) : 0;
    for (int64_t i = 0; i < size; ++i) row[i] = static_cast<float>(row[i] * factor);
  }
  return w;
}

}  // namespace syrinx
