// Cuts the text of a request into segments for a model that speaks them one after another. Text
// may arrive at once or in pieces. The thread that adds text also converts each complete segment
// to ids. Refuses text that cannot be spoken. One thread at a time.
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
  size_t segment_bytes = 400;  ///< bytes; a longer text is cut at the end of a sentence
  size_t short_chars = 60;     ///< characters; shorter sentences of late text join the next one
  int64_t most_ids = 0;        ///< largest number of ids of a segment; 0: no limit
};

/// The segments of one request's text.
class TextPlan {
 public:
  /// Returns the ids of a segment that begins at byte `begin` of the text. An Error fails the
  /// request.
  using Encode =
      std::function<Result<std::vector<int32_t>>(std::string_view segment, int64_t begin)>;
  /// Cuts text into a family's own segments. `text` is the `whole` text of the request, or a
  /// segment of late text that begins at byte `begin`. Segments without ids are not spoken.
  using Split =
      std::function<std::vector<std::string>(std::string_view text, int64_t begin, bool whole)>;

  /// `open`: more text may follow the first. Without `split`, segments consist of whole sentences.
  TextPlan(const TextPlanOptions& options, bool open, Encode encode, Split split = {});

  /// Processes the first text of a request.
  Status begin(std::string_view text);
  /// Processes more text; `last`: no more text follows.
  Status append(std::string_view text, bool last);
  bool open() const { return queue_.open(); }
  /// Returns whether no complete segment waits.
  bool empty() const { return waiting_.empty(); }
  /// Returns the next segment's ids and removes it. Must not be called if empty().
  std::vector<int32_t> next();

 private:
  Status take(std::string_view text, bool last);
  Status add(std::string_view segment, int64_t begin);
  Status add_parts(std::string_view text, int64_t begin, bool whole);

  bool late_;  // more text may follow the first text
  int64_t most_ids_;
  SegmentQueue queue_;
  Encode encode_;
  Split split_;
  std::deque<std::vector<int32_t>> waiting_;
};

}  // namespace syrinx
