// Random weights without a checkpoint. For each scale, a memory file has a block of a million
// normal numbers. It is mapped repeatedly until the mapping has the size of the tensor. The
// mappings share pages, so a model of any size costs address space and only a few megabytes of
// memory. However, each mapping counts as memory of the process. Pages of tensors that were already
// read are therefore released.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <map>
#include <numbers>

#include "base/float16.h"
#include "base/memory.h"
#include "io/weights.h"

namespace syrinx {
namespace {

constexpr size_t kBlock = 1 << 20;                         // elements in the block that is repeated
constexpr size_t kBlockBytes = kBlock * sizeof(uint16_t);  // a multiple of the page size
/// Most tensors that may be taken before the first of them is read.
constexpr size_t kReadTogether = 16;

/// A block of bf16 elements with one scale, in a memory file.
class Block {
 public:
  explicit Block(const std::vector<uint16_t>& elements) {
    fd_ = ::memfd_create("dummy weights", MFD_CLOEXEC);
    if (fd_ < 0 || ::ftruncate(fd_, kBlockBytes) != 0) throw std::bad_alloc();
    void* data = ::mmap(nullptr, kBlockBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    if (data == MAP_FAILED) throw std::bad_alloc();
    std::memcpy(data, elements.data(), kBlockBytes);
    ::munmap(data, kBlockBytes);
  }
  ~Block() {
    for (const auto& [data, size] : mapped_) ::munmap(data, size);
    if (fd_ >= 0) ::close(fd_);
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  /// Maps the block repeatedly, to at least `bytes` bytes; valid as long as the block.
  void* repeated(size_t bytes) {
    const size_t size = (std::max<size_t>(bytes, 1) + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
    // Reserves the whole range, then maps the block over each part of the range.
    void* all =
        ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED) throw std::bad_alloc();
    mapped_.emplace_back(all, size);
    for (size_t at = 0; at < size; at += kBlockBytes) {
      void* here = static_cast<char*>(all) + at;
      if (::mmap(here, kBlockBytes, PROT_READ, MAP_SHARED | MAP_FIXED, fd_, 0) == MAP_FAILED)
        throw std::bad_alloc();
    }
    return all;
  }

 private:
  int fd_ = -1;
  std::vector<std::pair<void*, size_t>> mapped_;
};

/// Returns standard normal numbers, the same on every machine.
std::vector<float> normals(size_t count) {
  std::vector<float> out(count);
  uint64_t state = 0x9e3779b97f4a7c15u;
  const auto uniform = [&state] {  // returns a number in (0, 1]
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (static_cast<double>(state >> 11) + 1.0) * 0x1p-53;
  };
  for (size_t i = 0; i < count; ++i) {
    const double radius = std::sqrt(-2.0 * std::log(uniform()));
    out[i] = static_cast<float>(radius * std::cos(2.0 * std::numbers::pi * uniform()));
  }
  return out;
}

class DummyWeights : public WeightSource {
 public:
  explicit DummyWeights(std::function<bool(const std::string&)> has) : has_(std::move(has)) {}

  std::string where(const std::string&) const override { return "dummy weights"; }
  bool has(const std::string& name) const override { return has_ && has_(name); }
  std::string describe(const std::string&) const override { return "any shape"; }
  std::optional<Shape> shape(const std::string&) const override { return {}; }
  std::vector<std::string> names() const override { return {}; }

  View take(const std::string& name, const Shape& shape) override {
    // A weight takes at least one byte. So a tensor with more elements than bytes of memory cannot
    // be loaded; reports this early.
    expect_memory(shape.count());
    let_go();
    View view{nullptr, DType::kBF16, shape, Device::kCpu};
    const bool factors = shape.dims() < 2 || is_zero(name) || name.ends_with("gamma");
    view.data = (factors ? constant(is_zero(name)) : random(shape)).repeated(view.bytes());
    latest_.push_back(view);
    if (latest_.size() > kReadTogether) latest_.pop_front();
    return view;
  }

 private:
  /// Releases the pages of earlier tensors. Views stay valid: a later read maps the block's pages
  /// again.
  void let_go() {
    for (const View& view : latest_) ::madvise(view.data, view.bytes(), MADV_DONTNEED);
  }

  Block& random(const Shape& shape) {
    const int64_t fan_in = std::max<int64_t>(1, shape.count() / std::max<int64_t>(1, shape[0]));
    auto& block = random_[fan_in];
    if (block) return *block;
    if (normals_.empty()) normals_ = normals(kBlock);
    const float scale = 1.f / std::sqrt(static_cast<float>(fan_in));
    std::vector<uint16_t> elements(kBlock);
    for (size_t i = 0; i < kBlock; ++i) elements[i] = f32_to_bf16(normals_[i] * scale);
    block = std::make_unique<Block>(elements);
    return *block;
  }

  /// Returns whether a vector gets zeros (a bias, a logarithm of a factor); others get ones.
  static bool is_zero(const std::string& name) {
    return name.ends_with("bias") || name.ends_with("alpha") || name.ends_with("beta");
  }

  Block& constant(bool zero) {
    auto& block = constant_[zero];
    if (!block)
      block = std::make_unique<Block>(std::vector<uint16_t>(kBlock, f32_to_bf16(zero ? 0.f : 1.f)));
    return *block;
  }

  std::function<bool(const std::string&)> has_;
  std::vector<float> normals_;
  std::map<int64_t, std::unique_ptr<Block>> random_;  // blocks by number of inputs
  std::map<bool, std::unique_ptr<Block>> constant_;
  std::deque<View> latest_;  // the most recently taken tensors
};

}  // namespace

std::unique_ptr<WeightSource> dummy_weights(std::function<bool(const std::string&)> has) {
  return std::make_unique<DummyWeights>(std::move(has));
}

}  // namespace syrinx
