// Text on its way to a model that speaks it in parts, each with a prompt of its own: whole
// sentences, as many as fit while all of the text is known, or one after another while it still
// arrives. What comes out depends on the text alone, not on the pieces it arrived in. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "base/error.h"
#include "text/sentences.h"

namespace syrinx {

class SegmentQueue {
 public:
  /// Segments of at most `max_bytes`, unless a single sentence is longer. `open`: more text may
  /// come after the first; then sentences shorter than `short_chars` wait for the next one.
  SegmentQueue(size_t max_bytes, bool open, size_t short_chars);

  /// `last`: no more text comes.
  void push(std::string_view text, bool last);
  bool open() const { return open_; }
  /// The next segment; empty when there is none now, or never when !open(). Segments are never
  /// blank.
  std::string next();
  /// Where in the whole text the segment that came last began, in bytes.
  int64_t begin() const { return begin_; }

 private:
  SentenceStream sentences_;
  size_t max_bytes_;
  bool open_ = true;
  bool grouped_;
  std::deque<SentenceStream::Item> waiting_;
  int64_t begin_ = 0;
};

/// Whether a text is white space only.
bool is_blank(std::string_view text);
/// The field that an error names where a text is blank: "input".
Error nothing_to_say();
/// The field that an error names where text comes after the last.
Error text_is_complete();

}  // namespace syrinx
