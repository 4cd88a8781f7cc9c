#include "codec/s3_flow_pages.h"

#include <cstring>

namespace syrinx {

S3FlowPages::S3FlowPages(const KvSpec& spec, int64_t slots, int64_t groups, Device device)
    : spec_(spec), slots_(slots), groups_(groups) {
  SYRINX_CHECK(spec.layers == 1, "[s3_flow_pages] pages must have one layer, got ", spec.layers);
  const int64_t pages = slots * groups;
  if (device == Device::kCpu) {
    pool_ = KvPool(spec, pages);
  } else {
    const int64_t bytes = groups * static_cast<int64_t>(group_bytes());
    memory_ = GrowingMemory::reserve(device, static_cast<size_t>(bytes));
    pool_ = KvPool(spec, pages, View{memory_->begin(), DType::kU8, {bytes}, device});
  }
  for (int64_t i = 0; i < groups; ++i) free_.push(static_cast<int32_t>(i));
}

S3FlowPages::Group S3FlowPages::take() {
  const std::lock_guard lock(mutex_);
  SYRINX_CHECK(!free_.empty(), "[s3_flow_pages] all groups of pages are in use");
  const int32_t group = free_.top();
  if (memory_) memory_->grow((static_cast<size_t>(group) + 1) * group_bytes());
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
  const auto bytes = static_cast<int64_t>(group_bytes());
  const View from{pool_.keys(0, *group * slots_, 0), DType::kU8, {bytes}, device()};
  const View to{pool_.keys(0, *copy * slots_, 0), DType::kU8, {bytes}, device()};
  if (device() == Device::kCpu) {
    std::memcpy(to.data, from.data, from.bytes());
  } else {
    device_copy(from, to);
  }
  group = copy;
}

void S3FlowPages::copy_rows(StepContext& ctx, std::span<const RowCopy> copies) const {
  std::vector<CachedRowCopy> rows;
  for (const RowCopy& c : copies) {
    rows.push_back({**c.from.group * slots_, **c.to.group * slots_,
                    static_cast<int32_t>(c.from.number), static_cast<int32_t>(c.to.number)});
  }
  copy_cached_rows(ctx, rows, slots_, pool_);
}

KvPool S3FlowPages::pool_from(int64_t slot) const {
  const int64_t pages = pool_.pages() - slot;
  const auto bytes = pages * static_cast<int64_t>(KvPool::page_bytes(spec_));
  return {spec_, pages, View{pool_.keys(0, slot, 0), DType::kU8, {bytes}, device()}};
}

}  // namespace syrinx
