// Helpers for tests of kernels and layers: random tensors, comparisons, guarded outputs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "tensor/tensor.h"

namespace syrinx::testing {

/// f32 tensor of Gaussian values.
inline Tensor random_tensor(const Shape& shape, uint32_t seed, float scale = 1.0f) {
  Tensor t(shape, DType::kF32);
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, scale);
  for (int64_t i = 0; i < shape.count(); ++i) t.f32()[i] = normal(random);
  return t;
}

/// Same shape, same bits.
inline bool same_bits(const View& a, const View& b) {
  return a.shape == b.shape && a.bytes() == b.bytes() &&
         std::memcmp(a.data, b.data, a.bytes()) == 0;
}

/// RMS of a - b.
inline double rms_error(const View& a, const View& b) {
  double error = 0;
  for (int64_t i = 0; i < b.count(); ++i) {
    const double d = double{a.f32()[i]} - b.f32()[i];
    error += d * d;
  }
  return std::sqrt(error / static_cast<double>(std::max<int64_t>(b.count(), 1)));
}

/// RMS of a - b over RMS of b.
inline double relative_rms(const View& a, const View& b) {
  double power = 0;
  for (int64_t i = 0; i < b.count(); ++i) power += double{b.f32()[i]} * b.f32()[i];
  power /= static_cast<double>(std::max<int64_t>(b.count(), 1));
  return rms_error(a, b) / std::sqrt(power + 1e-300);
}

/// An output full of NaN with NaN on both sides: what a kernel leaves unwritten or writes outside
/// shows.
class GuardedOutput {
 public:
  explicit GuardedOutput(const Shape& shape)
      : memory_(Shape{shape.count() + 2 * kGuard}, DType::kF32), shape_(shape) {
    for (int64_t i = 0; i < memory_.shape()[0]; ++i) memory_.f32()[i] = poison();
  }
  View view() const {
    return memory_.view().slice(kGuard, kGuard + shape_.count()).reshape(shape_);
  }
  /// All of the inside written, nothing outside touched.
  bool clean() const {
    for (int64_t i = 0; i < memory_.shape()[0]; ++i) {
      const bool inside = i >= kGuard && i < kGuard + shape_.count();
      if (std::isnan(memory_.f32()[i]) == inside) return false;
    }
    return true;
  }

 private:
  static constexpr int64_t kGuard = 64;
  static float poison() { return std::numeric_limits<float>::quiet_NaN(); }
  Tensor memory_;
  Shape shape_;
};

}  // namespace syrinx::testing
