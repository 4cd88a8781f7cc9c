// Keys and values of the flow's estimator. A group of pages holds KvPool::kPageRows frames for all
// solver steps, branches and layers. Streams with a common beginning (a voice's prompt) share its
// groups. A group is copied when one of its streams writes to it. take() and the release of a group
// may run on any thread.
#pragma once

#include <memory>
#include <mutex>
#include <queue>
#include <vector>

#include "kernels/attention.h"

namespace syrinx {

class S3FlowPages : public std::enable_shared_from_this<S3FlowPages> {
 public:
  /// `slots`: number of pages in a group. `groups`: limit of groups. Address space is reserved for
  /// all groups. Memory is used for the largest number of groups that were ever in use together.
  S3FlowPages(const KvSpec& spec, int64_t slots, int64_t groups);

  /// The number of a group. Destroying the last copy releases the group. A Group keeps its
  /// S3FlowPages alive.
  using Group = std::shared_ptr<const int32_t>;
  /// Returns an unused group. Throws InternalError if all groups are in use.
  Group take();
  /// Makes `group` exclusive to its stream: replaces it by a copy if other streams share it.
  void own(Group& group);
  /// Copies the keys and values of one row in all pages of a group. `to` must not be shared.
  void copy_row(const Group& from, int64_t row, const Group& to, int64_t to_row);

  const KvPool& pool() const { return pool_; }
  int64_t slots() const { return slots_; }
  size_t group_bytes() const { return static_cast<size_t>(slots_) * KvPool::page_bytes(spec_); }

 private:
  void give_back(int32_t group);
  KvSpec spec_;
  int64_t slots_;
  KvPool pool_;
  std::mutex mutex_;
  // The lowest free number is used first, so that memory stays dense.
  std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> free_;
};

}  // namespace syrinx
