#include "nn/weight_norm.h"

#include <cmath>
#include <vector>

namespace syrinx {
namespace {

Shape gains_of(const Shape& shape) {
  std::vector<int64_t> sizes(static_cast<size_t>(shape.dims()), 1);
  sizes[0] = shape[0];
  return Shape(std::span<const int64_t>(sizes));
}

}  // namespace

Tensor take_weight_normed(const Weights& weights, const Shape& shape) {
  const char *gain = nullptr, *direction = nullptr;
  if (weights.has("parametrizations.weight.original1")) {
    gain = "parametrizations.weight.original0", direction = "parametrizations.weight.original1";
  } else if (weights.has("weight_v")) {
    gain = "weight_g", direction = "weight_v";
  } else {
    return weights.f32("weight", shape);
  }
  const Tensor g = weights.f32(gain, gains_of(shape));
  Tensor v = weights.f32(direction, shape);
  const int64_t rows = shape[0], width = shape.count() / std::max<int64_t>(rows, 1);
  for (int64_t r = 0; r < rows; ++r) {
    float* row = v.f32() + r * width;
    double sum = 0;
    for (int64_t i = 0; i < width; ++i) sum += double{row[i]} * row[i];
    const double scale = sum > 0 ? g.f32()[r] / std::sqrt(sum) : 0;
    for (int64_t i = 0; i < width; ++i) row[i] = static_cast<float>(row[i] * scale);
  }
  return v;
}

}  // namespace syrinx
