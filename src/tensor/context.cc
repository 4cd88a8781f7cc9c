#include "tensor/context.h"

#include <algorithm>

namespace syrinx {
namespace {
constexpr size_t kAlign = 64;
constexpr size_t kFirstBlock = 1u << 20;
}  // namespace

View Arena::take(Shape shape, DType dtype) {
  View view{nullptr, dtype, shape, device_};
  const size_t need = (std::max<size_t>(view.bytes(), 1) + kAlign - 1) / kAlign * kAlign;
  while (block_ < blocks_.size() && used_ + need > blocks_[block_].bytes()) ++block_, used_ = 0;
  if (block_ == blocks_.size()) {
    const size_t size = std::max({need, kFirstBlock, capacity()});
    blocks_.emplace_back(Shape{static_cast<int64_t>(size)}, DType::kU8, device_);
    used_ = 0;
  }
  view.data = static_cast<char*>(blocks_[block_].view().data) + used_;
  used_ += need;
  return view;
}

void Arena::reset() {
  if (blocks_.size() > 1) {
    const size_t total = capacity();
    blocks_.clear();
    blocks_.emplace_back(Shape{static_cast<int64_t>(total)}, DType::kU8, device_);
  }
  block_ = used_ = 0;
}

size_t Arena::capacity() const {
  size_t total = 0;
  for (const Tensor& block : blocks_) total += block.bytes();
  return total;
}

}  // namespace syrinx
