// Rows of a prompt that another network fills after it has processed a recording: an audio tower
// supplies vectors, which replace rows of the embedding table, or a speech tokenizer supplies ids.
// Plain values, used by one thread at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/frames.h"

namespace syrinx::llm {

class HeardRows {
 public:
  HeardRows() = default;
  /// `places`: positions of these rows in the prompt, ascending. `width`: their width; 0: ids.
  HeardRows(std::vector<int32_t> places, int64_t width);

  bool none() const { return places_.empty(); }
  bool complete() const { return heard_ == places_.size(); }
  /// Returns the first position that is not filled. Valid only before complete().
  int missing() const { return places_[heard_]; }
  std::span<const int32_t> places() const { return places_; }
  /// Returns how many of the places are before position `pos`.
  int before(int pos) const;
  /// Fills the next places from `frames`; returns the filled places.
  std::span<const int32_t> take(const Frames& frames);
  /// Returns the row of a position, which must be filled. Empty if the position is not a place.
  std::span<const float> row(int pos) const;

 private:
  std::vector<int32_t> places_;
  int64_t width_ = 0;
  size_t heard_ = 0;         // number of filled places
  std::vector<float> rows_;  // [heard, width]
};

}  // namespace syrinx::llm
