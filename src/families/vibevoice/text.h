// Converts the text of a request to ids, as a whole or as it arrives, in parts that fit the model's
// positions. All ids together equal those of the authors' program for the text without white space
// around it, with straight quotes, and with a new line at the end. Earlier parts end with a new
// line, too. One thread at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokens/tokenizer.h"

namespace syrinx::vibevoice {

class TextWindows {
 public:
  static constexpr int kWindow = 5;  ///< number of ids of a window (TTS_TEXT_WINDOW_SIZE)

  /// `most_ids`: most ids of a part. A part ends at the first end of a sentence after 3/4 of
  /// `most_ids` ids, or at `most_ids` ids.
  TextWindows(const Tokenizer& tokenizer, int64_t most_ids);

  /// Adds text; `last`: no more text comes.
  void push(std::string_view text, bool last);
  bool closed() const { return closed_; }
  /// Returns whether all text so far is white space.
  bool blank() const { return blank_; }

  /// Returns whether the next window of the current part is complete.
  bool ready() const;
  /// Returns whether the current part has another window, or may still get one.
  bool more() const { return !part().ids.empty() || !part().complete; }
  /// Returns the next window, 1 to kWindow ids, and removes it. Call it only if ready().
  std::vector<int32_t> take();
  /// Drops the rest of this part and begins the next part. Returns false if no part is left.
  bool next_part();

  /// Returns how many ids of the current part were taken or can be taken.
  int64_t known_ids() const { return part().taken + std::ssize(part().ids); }

 private:
  struct Part {
    std::deque<int32_t> ids;
    int64_t taken = 0;
    bool complete = false;  // whether no further id follows
  };
  const Part& part() const { return parts_.front(); }
  void encode(std::string_view text);
  void add(const std::vector<int32_t>& ids);
  void end_part();

  const Tokenizer& tokenizer_;
  StreamEncoder encoder_;
  int64_t most_ids_;
  // Bytes of an incomplete character; white space that may be at the end of the text.
  std::string unfinished_, spaces_;
  bool blank_ = true, closed_ = false;
  bool full_ = false;  // whether the last part ends before the next id
  std::deque<Part> parts_{1};
};

}  // namespace syrinx::vibevoice
