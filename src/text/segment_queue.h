// Cuts text into segments for a model that speaks each segment with its own prompt. A segment has
// whole sentences: as many as fit if all text is known, otherwise one. The segments do not depend
// on how the text is divided into pieces. Not thread-safe.
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
  /// Makes segments of at most `max_bytes`, unless a single sentence is longer. `open`: more text
  /// may follow the first piece. While the text is open, a sentence shorter than `short_chars`
  /// waits for the next sentence.
  SegmentQueue(size_t max_bytes, bool open, size_t short_chars);

  /// Adds text. `last`: no more text follows.
  void push(std::string_view text, bool last);
  bool open() const { return open_; }
  /// Returns the next segment, which is never blank. Returns an empty text if no segment is ready;
  /// if open() is false, no more segments follow.
  std::string next();
  /// Returns the byte offset of the last returned segment in the whole text.
  int64_t begin() const { return begin_; }

 private:
  SentenceStream sentences_;
  size_t max_bytes_;
  bool open_ = true;
  bool grouped_;
  std::deque<SentenceStream::Item> waiting_;
  int64_t begin_ = 0;
};

/// Returns whether a text is only white space.
bool is_blank(std::string_view text);
/// Returns the error for a blank text, which names the field "input".
Error nothing_to_say();
/// Returns the error for text that arrives after the end of the text.
Error text_is_complete();

}  // namespace syrinx
