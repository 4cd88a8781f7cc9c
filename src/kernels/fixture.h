// What the tests of kernels and layers share: a context with its pool, tensors of repeatable
// pseudo-random numbers, poison, and comparisons. Only included by *_test.cc.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tensor/context.h"

namespace syrinx::fixture {

/// A context of one device, and host tensors as its kernels see them: on(x) is x where the kernels
/// run, with what x holds, and back() brings home what they wrote. Both do nothing on the CPU.
class Bench {
 public:
  explicit Bench(int threads = 1, Device device = Device::kCpu)
      : pool(threads),
        arena(device),
        stream_(make_stream(device)),
        ctx(stream_ ? StepContext(pool, arena, host_, *stream_) : StepContext(pool, arena)) {}

  /// The same view gives the same memory until back().
  View on(const View& host) {
    if (ctx.device == Device::kCpu || host.empty()) return host;
    auto& copy = copies_[{host.data, host.bytes()}];
    if (copy.device.empty()) {
      copy.host = host;
      copy.device = copy_to(host, ctx.device);
    }
    View view = copy.device.view();
    view.shape = host.shape;
    return view;
  }
  /// Weights, kept until the end.
  template <typename Packed>
  const Packed& weights(const Packed& host) {
    if (ctx.device == Device::kCpu) return host;
    auto kept = std::make_shared<Packed>(host.on_device(ctx.device));
    kept_.push_back(kept);
    return *kept;
  }
  void back() {
    if (ctx.device == Device::kCpu) return;
    ctx.stream->synchronize();
    for (auto& [key, copy] : copies_) device_copy(copy.device, copy.host);
    copies_.clear();
    arena.reset();
    host_.reset();
  }

  ThreadPool pool;
  Arena arena;

 private:
  Arena host_;
  std::unique_ptr<Stream> stream_;

 public:
  StepContext ctx;

 private:
  struct Copy {
    View host;
    Tensor device;
  };
  static std::unique_ptr<Stream> make_stream(Device device) {
    return device == Device::kCpu ? nullptr : Stream::create(device);
  }
  std::map<std::pair<void*, size_t>, Copy> copies_;
  std::deque<std::shared_ptr<void>> kept_;
};

/// A test that runs once for every device that this build knows, and is skipped on a machine that
/// lacks one.
class OnDevice : public ::testing::TestWithParam<Device> {
 protected:
  void SetUp() override {
    if (const std::string why = device_missing(GetParam()); !why.empty()) GTEST_SKIP() << why;
  }
};

/// The CPU, and the GPU where its backend is built.
inline std::vector<Device> devices() {
  std::vector<Device> all{Device::kCpu};
  if (device_missing(Device::kCuda).find("this build") == std::string::npos)
    all.push_back(Device::kCuda);
  return all;
}
/// Whether the device is the emulated GPU, on which large shapes take minutes.
inline bool emulated(Device device) {
  return device == Device::kCuda && Stream::create(device)->native() == nullptr;
}
inline std::string device_label(const ::testing::TestParamInfo<Device>& info) {
  return device_name(info.param);
}

/// Normal numbers times `scale`.
inline Tensor random(Shape shape, unsigned seed, float scale = 1) {
  Tensor t(shape, DType::kF32);
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal(0, scale);
  for (int64_t i = 0; i < shape.count(); ++i) t.f32()[i] = normal(engine);
  return t;
}

/// Full of NaN: whatever a kernel forgets to write is seen.
inline Tensor poisoned(Shape shape) {
  Tensor t(shape, DType::kF32);
  std::fill_n(t.f32(), shape.count(), std::numeric_limits<float>::quiet_NaN());
  return t;
}

inline bool same_bits(const View& a, const View& b) {
  return a.shape == b.shape && std::memcmp(a.data, b.data, a.bytes()) == 0;
}

/// Largest |a - b|, relative to the largest |b|; infinite when a number is not one.
inline double difference(const View& a, const View& b) {
  double worst = 0, top = 1e-30;
  for (int64_t i = 0; i < b.count(); ++i) {
    const double d = std::fabs(double{a.f32()[i]} - b.f32()[i]);
    if (!(d < INFINITY)) return INFINITY;
    worst = std::fmax(worst, d);
    top = std::fmax(top, std::fabs(b.f32()[i]));
  }
  return worst / top;
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

}  // namespace syrinx::fixture
