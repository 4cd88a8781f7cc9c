// Keys and values of the flow's estimator. A group of pages holds KvPool::kPageRows frames for all
// solver steps, branches and layers. Streams with a common beginning (a voice's prompt) share its
// groups. A group is copied when one of its streams writes to it. take() and the release of a group
// may run on any thread.
#pragma once

#include <memory>
#include <mutex>
#include <queue>
#include <span>
#include <vector>

#include "kernels/attention.h"
#include "tensor/device.h"

namespace syrinx {

class S3FlowPages : public std::enable_shared_from_this<S3FlowPages> {
 public:
  /// `slots`: number of pages in a group. `groups`: limit of groups. Address space is reserved for
  /// all groups. Memory is used for the largest number of groups that were ever in use together.
  S3FlowPages(const KvSpec& spec, int64_t slots, int64_t groups, Device device = Device::kCpu);

  /// The number of a group. Destroying the last copy releases the group. A Group keeps its
  /// S3FlowPages alive. No kernel may be using a released group.
  using Group = std::shared_ptr<const int32_t>;
  /// Returns an unused group. Throws InternalError if all groups are in use, and LoadError if a GPU
  /// lacks the memory for one more.
  Group take();
  /// Makes `group` exclusive to its stream: replaces it by a copy if other streams share it. No
  /// kernel may be writing it.
  void own(Group& group);
  /// A row of a group, by its number.
  struct Row {
    const Group* group = nullptr;
    int64_t number = 0;
  };
  /// A copy of a row's keys and values in all pages of its group. No other stream shares `to`.
  struct RowCopy {
    Row from, to;
  };
  /// Makes the copies; none reads a row that another one writes.
  void copy_rows(StepContext& ctx, std::span<const RowCopy> copies) const;

  /// Returns the pool as seen from page `slot` on: page n of the result is page n + slot.
  KvPool pool_from(int64_t slot) const;
  Device device() const { return pool_.device(); }
  int64_t slots() const { return slots_; }
  int64_t groups() const { return groups_; }
  const KvSpec& spec() const { return spec_; }
  size_t group_bytes() const { return static_cast<size_t>(slots_) * KvPool::page_bytes(spec_); }

 private:
  void give_back(int32_t group);
  KvSpec spec_;
  int64_t slots_, groups_;
  std::unique_ptr<GrowingMemory> memory_;  // holds the pool on a GPU; null on the CPU
  KvPool pool_;
  std::mutex mutex_;
  // The lowest free number is used first, so that memory stays dense.
  std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> free_;
};

}  // namespace syrinx
