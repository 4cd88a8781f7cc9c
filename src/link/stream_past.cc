#include "link/stream_past.h"

#include <utility>

#include "base/check.h"

namespace syrinx {

StreamPast::StreamPast(std::string bundle, int width, size_t most_bytes)
    : bundle_(std::move(bundle)),
      frame_bytes_(static_cast<size_t>(width) * 4),
      most_bytes_(most_bytes) {}

void StreamPast::add(const PushedJob& job) {
  SYRINX_CHECK(job.at == at_ && job.left <= at_, "a chunk begins at ", job.at, ", not ", at_);
  at_ += job.fresh;
  if (!whole_) return;
  const size_t begin = static_cast<size_t>(job.at - job.left) * frame_bytes_;
  SYRINX_CHECK(begin <= frames_.size(), "frames are missing before ", job.at);
  const size_t known = frames_.size() - begin;
  if (known < job.window.size()) frames_ += job.window.substr(known);
  cuts_.push_back({job.at, job.left, job.fresh, job.ahead, job.last});
  if (bundle_.size() + frames_.size() + cuts_.size() * sizeof(Cut) <= most_bytes_) return;
  whole_ = false;
  frames_ = std::string(), bundle_ = std::string(), cuts_ = std::vector<Cut>();
}

PushedJob StreamPast::chunk(size_t i) const {
  const Cut& cut = cuts_.at(i);
  const size_t begin = static_cast<size_t>(cut.at - cut.left) * frame_bytes_;
  const size_t frames = size_t{cut.left} + cut.fresh + cut.ahead;
  return {.stream = 0,
          .at = cut.at,
          .left = cut.left,
          .fresh = cut.fresh,
          .ahead = cut.ahead,
          .last = cut.last,
          .window = std::string_view(frames_).substr(begin, frames * frame_bytes_)};
}

}  // namespace syrinx
