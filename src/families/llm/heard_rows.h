// Rows of a prompt that another network fills once it has heard: with rows in place of the table's
// (those of an audio tower), or with ids (the codes of a speech tokenizer). Plain values, used by
// one thread at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/frames.h"

namespace syrinx::llm {

class HeardRows {
 public:
  HeardRows() = default;
  /// `places`: the prompt's positions of the rows, rising. `width` of the rows; 0: they are ids.
  HeardRows(std::vector<int32_t> places, int64_t width);

  bool none() const { return places_.empty(); }
  bool complete() const { return heard_ == places_.size(); }
  /// The first position without its row; only before complete().
  int missing() const { return places_[heard_]; }
  std::span<const int32_t> places() const { return places_; }
  /// How many of them are before position `pos`.
  int before(int pos) const;
  /// The rows of the next places; returns those.
  std::span<const int32_t> take(const Frames& frames);
  /// The row for a position, which must be there; empty where the prompt has none.
  std::span<const float> row(int pos) const;

 private:
  std::vector<int32_t> places_;
  int64_t width_ = 0;
  size_t heard_ = 0;         // of the places
  std::vector<float> rows_;  // [heard, width]
};

}  // namespace syrinx::llm
