#include "families/llm/heard_rows.h"

#include <algorithm>

#include "base/check.h"

namespace syrinx::llm {

HeardRows::HeardRows(std::vector<int32_t> places, int64_t width)
    : places_(std::move(places)), width_(width) {}

std::span<const int32_t> HeardRows::take(const Frames& frames) {
  if (width_ > 0) rows_.insert(rows_.end(), frames.floats.begin(), frames.floats.end());
  const auto count = static_cast<size_t>(frames.count);
  heard_ += count;
  SYRINX_CHECK(heard_ <= places_.size() && (!frames.last || complete()), "[hearing] got ", heard_,
               " rows for ", places_.size(), " places");
  return std::span(places_).subspan(heard_ - count, count);
}

int HeardRows::before(int pos) const {
  return static_cast<int>(std::lower_bound(places_.begin(), places_.end(), pos) - places_.begin());
}

std::span<const float> HeardRows::row(int pos) const {
  const auto place = std::lower_bound(places_.begin(), places_.end(), pos);
  if (width_ == 0 || place == places_.end() || *place != pos) return {};
  return std::span(rows_).subspan(static_cast<size_t>((place - places_.begin()) * width_),
                                  static_cast<size_t>(width_));
}

}  // namespace syrinx::llm
