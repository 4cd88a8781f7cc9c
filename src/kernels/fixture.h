// For tests of kernels and layers: a context with its pool, tensors of reproducible random numbers,
// poisoned outputs, and comparisons. Only *_test.cc include it.
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

/// A context of one device. on(x) returns a copy of the host tensor x on that device. back() copies
/// all these copies back to the host. On the CPU, on(x) returns x and back() does nothing.
class Bench {
 public:
  explicit Bench(int threads = 1, Device device = Device::kCpu)
      : pool(threads),
        arena(device),
        stream_(make_stream(device)),
        ctx(stream_ ? StepContext(pool, arena, host_, *stream_) : StepContext(pool, arena)) {}

  /// Returns a view of device memory; the same memory for the same view until back().
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
  /// Copies weights to the device. The copy exists until the test ends.
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

/// A test that runs once for every device of this build. It is skipped if the machine lacks the
/// device.
class OnDevice : public ::testing::TestWithParam<Device> {
 protected:
  void SetUp() override {
    if (const std::string why = device_missing(GetParam()); !why.empty()) GTEST_SKIP() << why;
  }
};

/// Returns the CPU and, if its backend is built, the last GPU. That is not the current GPU of a new
/// thread, so that work for the wrong GPU fails.
inline std::vector<Device> devices() {
  std::vector<Device> all{Device::kCpu};
  if (device_missing(Device::kCuda).find("this build") == std::string::npos)
    all.push_back(Device::gpu(std::max(1, static_cast<int>(gpu_names().size())) - 1));
  return all;
}
/// Returns whether the device is an emulated GPU, on which large shapes take minutes.
inline bool emulated(Device device) {
  const std::vector<std::string> names = gpu_names();
  return device == Device::kCuda && !names.empty() && names[0] == "emulated GPU";
}
/// Returns a device's name as a part of a test's name.
inline std::string label_of(Device device) { return device == Device::kCpu ? "cpu" : "cuda"; }
inline std::string device_label(const ::testing::TestParamInfo<Device>& info) {
  return label_of(info.param);
}

/// Returns normal numbers times `scale`.
inline Tensor random(Shape shape, unsigned seed, float scale = 1) {
  Tensor t(shape, DType::kF32);
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;  // its deviation must not be 0, but `scale` may be
  for (int64_t i = 0; i < shape.count(); ++i) t.f32()[i] = normal(engine) * scale;
  return t;
}

/// Returns a tensor of NaN, so that a test detects values that a kernel did not write.
inline Tensor poisoned(Shape shape) {
  Tensor t(shape, DType::kF32);
  std::fill_n(t.f32(), shape.count(), std::numeric_limits<float>::quiet_NaN());
  return t;
}

inline bool same_bits(const View& a, const View& b) {
  return a.shape == b.shape && std::memcmp(a.data, b.data, a.bytes()) == 0;
}

/// Returns the largest |a - b| divided by the largest |b|; infinity if a number is NaN.
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

/// Returns the RMS of a - b.
inline double rms_error(const View& a, const View& b) {
  double error = 0;
  for (int64_t i = 0; i < b.count(); ++i) {
    const double d = double{a.f32()[i]} - b.f32()[i];
    error += d * d;
  }
  return std::sqrt(error / static_cast<double>(std::max<int64_t>(b.count(), 1)));
}

/// Returns the RMS of a - b divided by the RMS of b.
inline double relative_rms(const View& a, const View& b) {
  double power = 0;
  for (int64_t i = 0; i < b.count(); ++i) power += double{b.f32()[i]} * b.f32()[i];
  power /= static_cast<double>(std::max<int64_t>(b.count(), 1));
  return rms_error(a, b) / std::sqrt(power + 1e-300);
}

/// An output of NaN between two margins of NaN, to detect missing writes and writes outside of
/// it.
class GuardedOutput {
 public:
  explicit GuardedOutput(const Shape& shape)
      : memory_(Shape{shape.count() + 2 * kGuard}, DType::kF32), shape_(shape) {
    for (int64_t i = 0; i < memory_.shape()[0]; ++i) memory_.f32()[i] = poison();
  }
  View view() const {
    return memory_.view().slice(kGuard, kGuard + shape_.count()).reshape(shape_);
  }
  /// Returns whether every number of the output was written and no number of the margins.
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
