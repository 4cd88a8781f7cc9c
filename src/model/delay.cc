#include "model/delay.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace syrinx {

std::vector<int> DelayPattern::staggered(int streams) {
  std::vector<int> delays(static_cast<size_t>(streams));
  std::iota(delays.begin(), delays.end(), 0);
  return delays;
}

int DelayPattern::tail() const { return *std::max_element(delays.begin(), delays.end()); }

std::vector<int32_t> DelayPattern::interleave(std::span<const int32_t> frames) const {
  const auto width = delays.size();
  SYRINX_CHECK(frames.size() % width == 0, "delay: ", frames.size(), " codes for ", width);
  const int count = static_cast<int>(frames.size() / width), steps = count + tail();
  std::vector<int32_t> out(static_cast<size_t>(steps) * width);
  for (int step = 0; step < steps; ++step) {
    for (size_t s = 0; s < width; ++s) {
      const int frame = step - delays[s];
      out[step * width + s] = frame < 0        ? marks.before
                              : frame < count  ? frames[frame * width + s]
                              : frame == count ? marks.end
                                               : marks.after;
    }
  }
  return out;
}

DelayedStreams::DelayedStreams(DelayPattern pattern) : pattern_(std::move(pattern)) {
  const std::vector<int>& delays = pattern_.delays;
  SYRINX_CHECK(
      !delays.empty() && delays[0] == 0 && *std::min_element(delays.begin(), delays.end()) == 0,
      "delay: stream 0 must have delay 0, and no delay may be negative");
  tail_ = pattern_.tail();
  columns_.resize(delays.size());
  restart(0);
}

void DelayedStreams::restart(int steps) {
  end_ = -1;
  for (std::vector<int32_t>& column : columns_) {
    column.assign(1, pattern_.marks.before);
    column.reserve(static_cast<size_t>(steps) + 1);
  }
}

bool DelayedStreams::marked(int step, int s) const {
  const int frame = step - pattern_.delays[s];
  if (frame < 0) return pattern_.drain != DelayDrain::kFree;
  if (!ending()) return false;
  if (pattern_.drain == DelayDrain::kEndFrame) return frame > end_ + (s == 0 ? 1 : 0);
  return pattern_.drain == DelayDrain::kForced && frame >= end_;
}

void DelayedStreams::end_with_tail() { end_at(std::max(0, whole())); }

bool DelayedStreams::cut_at(int most) {
  if (done() || steps() < most) return false;
  end_with_tail();
  return true;
}

void DelayedStreams::push(std::span<const int32_t> codes) {
  SYRINX_CHECK(codes.size() >= columns_.size(), "delay: ", codes.size(), " codes for ",
               columns_.size());
  const int step = steps();
  const DelayMarks& marks = pattern_.marks;
  for (int s = 0; s < pattern_.streams(); ++s) {
    const int frame = step - pattern_.delays[s];
    const int32_t mark = frame < 0 ? marks.before : frame == end_ ? marks.end : marks.after;
    columns_[s].push_back(marked(step, s) ? mark : codes[s]);
  }
}

bool DelayedStreams::frame(std::span<int32_t> out) const {
  const int frame = whole() - 1;
  if (frame < 0 || (ending() && frame >= end_)) return false;
  for (size_t s = 0; s < columns_.size(); ++s)
    out[s] = at(frame + pattern_.delays[s], static_cast<int>(s));
  return true;
}

}  // namespace syrinx
