#include "codec/s3_flow_pages.h"

#include <cstring>

namespace syrinx {

S3FlowPages::S3FlowPages(const KvSpec& spec, int64_t slots, int64_t groups)
    : spec_(spec), slots_(slots), pool_(spec, slots * groups) {
  SYRINX_CHECK(spec.layers == 1, "[s3_flow_pages] pages of ", spec.layers, " layers");
  for (int64_t i = 0; i < groups; ++i) free_.push(static_cast<int32_t>(i));
}

S3FlowPages::Group S3FlowPages::take() {
  const std::lock_guard lock(mutex_);
  SYRINX_CHECK(!free_.empty(), "[s3_flow_pages] all groups of pages are taken");
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
  // With one layer, a group's pages lie side by side.
  std::memcpy(pool_.keys(0, *copy * slots_, 0), pool_.keys(0, *group * slots_, 0), group_bytes());
  group = copy;
}

}  // namespace syrinx
