// Keys and values of the flow's estimator: for every stretch of KvPool::kPageRows frames one group
// of pages, which holds all solver steps, branches and layers. Groups of a common beginning (a
// voice's prompt) are shared by streams and copied when one of them writes on.
// take() and the end of a group may happen on any thread.
#pragma once

#include <memory>
#include <mutex>
#include <queue>
#include <vector>

#include "kernels/attention.h"

namespace syrinx {

class S3FlowPages : public std::enable_shared_from_this<S3FlowPages> {
 public:
  /// `slots`: pages of a group. Address space is taken for all groups, memory only for those that
  /// were in use at the same time.
  S3FlowPages(const KvSpec& spec, int64_t slots, int64_t groups);

  /// A group's number; given back when the last copy goes. The pages outlive their groups.
  using Group = std::shared_ptr<const int32_t>;
  /// Throws InternalError when all are taken.
  Group take();
  /// Makes `group` this stream's own: a copy when others hold it too.
  void own(Group& group);
  /// The keys and values of one row in all of a group's pages. No other stream may hold `to`.
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
  // The lowest first, so that memory stays dense.
  std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> free_;
};

}  // namespace syrinx
