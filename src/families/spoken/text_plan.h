// The text of a request on its way to a model that speaks it in segments: cut at sentences, whole
// or as it arrives, each segment turned into ids as soon as it is complete. Refuses what cannot be
// spoken. One thread at a time; text is turned into ids on the thread that brings it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "text/segment_queue.h"

namespace syrinx {

struct TextPlanOptions {
  size_t segment_bytes = 400;  ///< a longer text is cut at the end of a sentence
  size_t short_chars = 60;     ///< of late text, shorter sentences are spoken with the next
  int64_t most_ids = 0;        ///< of a segment; 0: no limit
};

/// The segments of one request's text.
class TextPlan {
 public:
  /// Ids of a segment, which begins at byte `begin` of the text; an Error fails the request.
  using Encode =
      std::function<Result<std::vector<int32_t>>(std::string_view segment, int64_t begin)>;
  /// A family's own segments: of a `whole` text, or of a sentence of late text that begins at byte
  /// `begin` of all text. Those without ids are not spoken.
  using Split =
      std::function<std::vector<std::string>(std::string_view text, int64_t begin, bool whole)>;

  /// `open`: more text may come after the first. Without `split` segments are whole sentences.
  TextPlan(const TextPlanOptions& options, bool open, Encode encode, Split split = {});

  /// The first text of a request.
  Status begin(std::string_view text);
  /// More of it; `last`: no more comes.
  Status append(std::string_view text, bool last);
  bool open() const { return queue_.open(); }
  /// Whether no segment is complete yet.
  bool empty() const { return waiting_.empty(); }
  /// The next segment's ids. Not if empty().
  std::vector<int32_t> next();

 private:
  Status take(std::string_view text, bool last);
  Status add(std::string_view segment, int64_t begin);
  Status add_parts(std::string_view text, int64_t begin, bool whole);

  bool late_;  // more text may come after the first
  int64_t most_ids_;
  SegmentQueue queue_;
  Encode encode_;
  Split split_;
  std::deque<std::vector<int32_t>> waiting_;
};

}  // namespace syrinx
