#include "tensor/tensor.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "tensor/absent.h"
#include "tensor/device.h"

namespace syrinx {
namespace {

/// Allocates the reference counts of tensors with malloc, like the tensors' memory. operator new
/// must not be used here: tests count its calls in steady steps, and make some calls fail.
template <typename T>
struct Malloc {
  using value_type = T;
  Malloc() = default;
  template <typename U>
  explicit Malloc(const Malloc<U>& /*other*/) {}
  T* allocate(size_t count) {
    if (void* memory = std::malloc(count * sizeof(T))) return static_cast<T*>(memory);
    throw std::bad_alloc();
  }
  void deallocate(T* memory, size_t /*count*/) { std::free(memory); }
  friend bool operator==(const Malloc&, const Malloc&) { return true; }
};

/// From this size in bytes on, memory is mapped from the system, already zero. So a cache of
/// gigabytes is available immediately, and uses memory only when it is written.
constexpr size_t kMapped = 32u << 20;

void* map_zeros(size_t bytes, size_t align) {
  const size_t room = bytes + align;
  void* mapped = mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  // Unmaps the parts before the first boundary and after the end.
  constexpr size_t kPage = 4096;
  auto* first = static_cast<char*>(mapped);
  char* begin = first + (align - reinterpret_cast<uintptr_t>(first) % align) % align;
  char* end = begin + (bytes + kPage - 1) / kPage * kPage;
  if (begin > first) munmap(first, static_cast<size_t>(begin - first));
  if (end < first + room) munmap(end, static_cast<size_t>(first + room - end));
  return begin;
}

}  // namespace

size_t dtype_size(DType dtype) {
  switch (dtype) {
    case DType::kI64:
      return 8;
    case DType::kF32:
    case DType::kI32:
      return 4;
    case DType::kF16:
    case DType::kBF16:
      return 2;
    case DType::kI8:
    case DType::kU8:
      return 1;
  }
  return 0;
}

const char* dtype_name(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "f32";
    case DType::kF16:
      return "f16";
    case DType::kBF16:
      return "bf16";
    case DType::kI64:
      return "i64";
    case DType::kI32:
      return "i32";
    case DType::kI8:
      return "i8";
    case DType::kU8:
      return "u8";
  }
  return "?";
}

Device Device::gpu(int number) {
  SYRINX_CHECK(0 <= number && number < kMostGpus, "invalid number of a GPU: ", number);
  Device device(kCuda);
  device.number_ = static_cast<uint8_t>(number);
  return device;
}

std::string device_name(Device device) {
  return device == Device::kCpu ? "cpu" : concat("cuda:", device.number());
}

std::optional<Device> device_of_name(std::string_view name) {
  if (name == "cpu") return Device::kCpu;
  if (name == "cuda") return Device::kCuda;
  for (int number = 0; number < Device::kMostGpus; ++number)
    if (name == concat("cuda:", number)) return Device::gpu(number);
  return std::nullopt;
}

Shape::Shape(std::initializer_list<int64_t> sizes)
    : Shape(std::span(sizes.begin(), sizes.size())) {}

Shape::Shape(std::span<const int64_t> sizes) : dims_(static_cast<int>(sizes.size())) {
  SYRINX_CHECK(sizes.size() <= kMaxDims, "a shape has at most ", kMaxDims, " dimensions");
  std::copy(sizes.begin(), sizes.end(), sizes_.begin());
}

int64_t Shape::count() const {
  int64_t product = 1;
  for (int i = 0; i < dims_; ++i) product *= sizes_[i];
  return product;
}

std::string Shape::str() const {
  std::string text = "[";
  for (int i = 0; i < dims_; ++i) text += (i ? ", " : "") + std::to_string(sizes_[i]);
  return text + "]";
}

View View::reshape(Shape to) const {
  SYRINX_CHECK(to.count() == count(), "cannot reshape ", shape.str(), " to ", to.str());
  View out = *this;
  out.shape = to;
  return out;
}

View View::slice(int64_t begin, int64_t end) const {
  SYRINX_CHECK(shape.dims() > 0 && 0 <= begin && begin <= end && end <= shape[0], "invalid slice ",
               begin, "..", end, " of ", shape.str());
  std::array<int64_t, Shape::kMaxDims> sizes{};
  for (int i = 0; i < shape.dims(); ++i) sizes[i] = shape[i];
  const size_t row = shape[0] ? bytes() / shape[0] : 0;
  sizes[0] = end - begin;
  View out = *this;
  out.data = static_cast<char*>(data) + row * begin;
  out.shape = Shape(std::span<const int64_t>(sizes.data(), shape.dims()));
  return out;
}

void expect_shape(const char* caller, const View& view, const Shape& want) {
  SYRINX_CHECK(view.shape == want, "[", caller, "] expected ", want.str(), ", got ",
               view.shape.str());
}

Tensor::Tensor(Shape shape, DType dtype, Device device) {
  constexpr size_t kTensorAlign = 64, kHuge = 2u << 20;
  view_ = View{nullptr, dtype, shape, device};
  const size_t bytes = view_.bytes();
  if (device != Device::kCpu) {
    void* memory = device_allocate(device, std::max<size_t>(bytes, 1));
    memory_ = std::shared_ptr<void>(
        memory, [device](void* m) { device_free(device, m); }, Malloc<char>());
    view_.data = memory;
    return;
  }
  // Whole stretches of 2 MB use huge pages; the remaining memory uses small pages.
  const size_t align = bytes >= kHuge ? kHuge : kTensorAlign;
  const size_t room = (std::max<size_t>(bytes, 1) + kTensorAlign - 1) / kTensorAlign * kTensorAlign;
  const bool mapped = room >= kMapped;
  void* memory = mapped ? map_zeros(room, kHuge) : nullptr;
  if (!mapped && posix_memalign(&memory, align, room) != 0) throw std::bad_alloc();
  memory_ = std::shared_ptr<void>(
      memory,
      [mapped, room](void* m) {
        if (AbsentTensors* absent = AbsentTensors::current()) absent->freed(m);
        mapped ? void(munmap(m, room)) : std::free(m);
      },
      Malloc<char>());
  if (align == kHuge) madvise(memory, room, MADV_HUGEPAGE);
  if (!mapped) std::memset(memory, 0, room);
  view_.data = memory;
  if (AbsentTensors* absent = AbsentTensors::current()) absent->made(memory, room);
}

Tensor::Tensor(const View& view, std::shared_ptr<const void> owner)
    : memory_(std::move(owner)), view_(view) {}

Tensor Tensor::clone() const {
  Tensor copy(shape(), dtype(), device());
  if (empty()) return copy;
  if (device() == Device::kCpu) {
    std::memcpy(copy.view_.data, view_.data, bytes());
  } else {
    device_copy(view_, copy.view_);
  }
  return copy;
}

}  // namespace syrinx
