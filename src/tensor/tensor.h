// Tensors: a Tensor owns memory, a View borrows memory for one call. Both are contiguous and
// row-major, with a type known at run time. Deep copies are named clone(), so that their cost is
// visible. Thread-compatible: several threads may use a const object.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/check.h"

namespace syrinx {

/// Type of a tensor's elements.
enum class DType : uint8_t { kF32, kF16, kBF16, kI64, kI32, kI8, kU8 };

/// Returns the size of one element in bytes.
size_t dtype_size(DType dtype);
/// Returns "f32", "bf16", ...; static storage.
const char* dtype_name(DType dtype);

/// The device of memory: the CPU, or a GPU by its number; tensor/device.h has a GPU's memory and
/// streams. kCpu and kCuda are kinds: `device == Device::kCuda` holds for each GPU. Device(kCuda)
/// is the first GPU.
class Device {
 public:
  enum Kind : uint8_t { kCpu, kCuda };
  static constexpr int kMostGpus = 64;  ///< GPUs have lower numbers

  constexpr Device(Kind kind = kCpu) : kind_(kind) {}  // NOLINT(google-explicit-constructor)
  /// Returns the GPU of a number, in CUDA's order, from 0 on. Throws InternalError for an invalid
  /// number.
  static Device gpu(int number);

  /// Returns the number of a GPU; 0 for the CPU.
  constexpr int number() const { return number_; }
  constexpr bool operator==(const Device& other) const = default;
  constexpr bool operator==(Kind kind) const { return kind_ == kind; }
  constexpr auto operator<=>(const Device& other) const = default;

 private:
  Kind kind_;
  uint8_t number_ = 0;
};

/// Returns "cpu" or "cuda:N".
std::string device_name(Device device);
/// Returns the device of a name: cpu, cuda:N, or cuda for cuda:0. Returns nothing for other text.
std::optional<Device> device_of_name(std::string_view name);

/// The sizes of a tensor's dimensions, at most five, outermost first.
class Shape {
 public:
  static constexpr int kMaxDims = 5;
  Shape() = default;
  Shape(std::initializer_list<int64_t> sizes);
  explicit Shape(std::span<const int64_t> sizes);

  int dims() const { return dims_; }
  /// Returns the size of dimension i; negative i counts from the last.
  int64_t operator[](int i) const { return sizes_[i < 0 ? dims_ + i : i]; }
  /// Returns the product of all sizes; 1 for a scalar.
  int64_t count() const;
  /// Returns the sizes as text: "[4, 512]".
  std::string str() const;
  bool operator==(const Shape&) const = default;

 private:
  std::array<int64_t, kMaxDims> sizes_{};
  int dims_ = 0;
};

/// A borrowed tensor: valid as long as its owner (a Tensor, an Arena, a mapped file).
struct View {
  void* data = nullptr;
  DType dtype = DType::kF32;
  Shape shape;
  Device device = Device::kCpu;

  int64_t count() const { return shape.count(); }
  size_t bytes() const { return static_cast<size_t>(count()) * dtype_size(dtype); }
  bool empty() const { return data == nullptr; }

  float* f32() const { return as<float>(DType::kF32); }
  uint16_t* f16() const { return as<uint16_t>(DType::kF16); }
  uint16_t* bf16() const { return as<uint16_t>(DType::kBF16); }
  int32_t* i32() const { return as<int32_t>(DType::kI32); }
  int8_t* i8() const { return as<int8_t>(DType::kI8); }

  /// Returns the same memory with another shape, which must have the same count.
  View reshape(Shape to) const;
  /// Returns the part [begin, end) of the outermost dimension.
  View slice(int64_t begin, int64_t end) const;

 private:
  template <typename T>
  T* as(DType want) const {
    SYRINX_CHECK(dtype == want, "view ", shape.str(), " is ", dtype_name(dtype),
                 ", but is read as ", dtype_name(want));
    return static_cast<T*>(data);
  }
};

/// Throws InternalError unless `view` has the shape `want`; `caller` names the calling function.
void expect_shape(const char* caller, const View& view, const Shape& want);

/// Owns zeroed memory aligned to 64 bytes (large tensors request huge pages), or shares memory with
/// other owners. Movable, not copyable. The host must not access the memory of a GPU; use
/// device_copy().
class Tensor {
 public:
  Tensor() = default;
  Tensor(Shape shape, DType dtype, Device device = Device::kCpu);
  /// Shares the memory of `view`, e.g. part of a mapped file, which must then not be written to.
  /// `owner` keeps the memory alive.
  Tensor(const View& view, std::shared_ptr<const void> owner);
  Tensor(Tensor&&) = default;
  Tensor& operator=(Tensor&&) = default;

  const View& view() const { return view_; }
  operator const View&() const { return view_; }  // NOLINT(google-explicit-constructor)
  const Shape& shape() const { return view_.shape; }
  DType dtype() const { return view_.dtype; }
  Device device() const { return view_.device; }
  bool empty() const { return view_.empty(); }
  float* f32() const { return view_.f32(); }
  int32_t* i32() const { return view_.i32(); }
  size_t bytes() const { return view_.empty() ? 0 : view_.bytes(); }
  Tensor clone() const;

 private:
  std::shared_ptr<const void> memory_;
  View view_;
};

}  // namespace syrinx
