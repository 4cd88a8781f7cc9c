// Rows of a prompt that another network fills after it has processed a recording: with rows that
// replace the table's (from an audio tower), or with ids (codes of a speech tokenizer). Plain
// values, used by one thread at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/frames.h"

namespace syrinx::llm {

class HeardRows {
 public:
  HeardRows() = default;
  /// `places`: the rows' positions in the prompt, ascending. `width`: of the rows; 0: ids.
  HeardRows(std::vector<int32_t> places, int64_t width);

  bool none() const { return places_.empty(); }
  bool complete() const { return heard_ == places_.size(); }
  /// Returns the first position that is not filled; only before complete().
  int missing() const { return places_[heard_]; }
  std::span<const int32_t> places() const { return places_; }
  /// Returns how many places are before position `pos`.
  int before(int pos) const;
  /// Takes the rows of the next places; returns these places.
  std::span<const int32_t> take(const Frames& frames);
  /// Returns the row of a position, which must be filled; empty if the position is not a place.
  std::span<const float> row(int pos) const;

 private:
  std::vector<int32_t> places_;
  int64_t width_ = 0;
  size_t heard_ = 0;         // number of filled places
  std::vector<float> rows_;  // [heard, width]
};

}  // namespace syrinx::llm
