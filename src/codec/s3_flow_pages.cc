#include "codec/s3_flow_pages.h"

#include <cstring>

namespace syrinx {

S3FlowPages::S3FlowPages(const KvSpec& spec, int64_t slots, int64_t groups)
    : spec_(spec), slots_(slots), pool_(spec, slots * groups) {
  SYRINX_CHECK(spec.layers == 1, "[s3_flow_pages] pages must have one layer, got ", spec.layers);
  for (int64_t i = 0; i < groups; ++i) free_.push(static_cast<int32_t>(i));
}

S3FlowPages::Group S3FlowPages::take() {
  const std::lock_guard lock(mutex_);
  SYRINX_CHECK(!free_.empty(), "[s3_flow_pages] all groups of pages are in use");
  const int32_t group = free_.top();
  auto* held = new int32_t(group);
  free_.pop();
  return Group(held, [self = shared_from_this()](const int32_t* number) {
    self->give_back(*number);
    delete number;
  });
}

void S3FlowPages::give_back(int32_t group) {
  const std::lock_guard lock(mutex_);
  free_.push(group);
}

void S3FlowPages::own(Group& group) {
  if (group.use_count() == 1) return;
  const Group copy = take();
  // The pool has one layer, so the pages of a group are contiguous.
  std::memcpy(pool_.keys(0, *copy * slots_, 0), pool_.keys(0, *group * slots_, 0), group_bytes());
  group = copy;
}

void S3FlowPages::copy_row(const Group& from, int64_t row, const Group& to, int64_t to_row) {
  const size_t size = spec_.dtype == DType::kF32 ? 4 : 2;  // pages of 8 bits do not occur
  const auto dim = static_cast<size_t>(spec_.head_dim), rows = size_t{KvPool::kPageRows};
  const auto in = static_cast<size_t>(row), out = static_cast<size_t>(to_row);
  for (int64_t slot = 0; slot < slots_; ++slot) {
    for (int head = 0; head < spec_.kv_heads; ++head) {
      const int64_t a = *from * slots_ + slot, b = *to * slots_ + slot;
      const char* keys = static_cast<const char*>(pool_.keys(0, a, head)) + in * size;
      char* to_keys = static_cast<char*>(pool_.keys(0, b, head)) + out * size;
      for (size_t d = 0; d < dim; ++d)
        std::memcpy(to_keys + d * rows * size, keys + d * rows * size, size);
      std::memcpy(static_cast<char*>(pool_.values(0, b, head)) + out * dim * size,
                  static_cast<const char*>(pool_.values(0, a, head)) + in * dim * size, dim * size);
    }
  }
}

}  // namespace syrinx
