#include "nn/weight_norm.h"

#include <cmath>
#include <vector>

namespace syrinx {

Tensor folded_weight(const Weights& weights, const Shape& shape, const std::string& name,
                     int axis) {
  std::string gain = name + "_g", direction = name + "_v";
  if (!weights.has(gain) && !weights.has(direction)) {
    gain = "parametrizations." + name + ".original0";
    direction = "parametrizations." + name + ".original1";
    if (!weights.has(gain) && !weights.has(direction)) return weights.f32(name, shape);
  }
  std::vector<int64_t> ones(static_cast<size_t>(shape.dims()), 1);
  const int64_t norms = ones[static_cast<size_t>(axis)] = shape[axis];
  int64_t inner = 1;  // product of the sizes after the axis
  for (int d = axis + 1; d < shape.dims(); ++d) inner *= shape[d];
  const Tensor g = weights.f32(gain, Shape(std::span<const int64_t>(ones)));
  Tensor w = weights.f32(direction, shape);
  const auto norm_of = [&](int64_t i) { return static_cast<size_t>(i / inner % norms); };
  std::vector<double> factor(static_cast<size_t>(norms));
  for (int64_t i = 0; i < shape.count(); ++i) {
    factor[norm_of(i)] += double{w.f32()[i]} * w.f32()[i];
  }
  for (int64_t n = 0; n < norms; ++n) {
    double& power = factor[static_cast<size_t>(n)];
    power = power > 0 ? g.f32()[n] / std::sqrt(power) : 0;
  }
  for (int64_t i = 0; i < shape.count(); ++i) {
    w.f32()[i] = static_cast<float>(w.f32()[i] * factor[norm_of(i)]);
  }
  return w;
}

}  // namespace syrinx
