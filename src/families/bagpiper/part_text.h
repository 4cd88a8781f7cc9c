// The text of an answer while its parts are written: applies stop strings, and separates the words
// of two parts by a blank line. A value type, used by one thread.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "families/llm/answer_text.h"
#include "model/sequence.h"

namespace syrinx::bagpiper {

class PartText {
 public:
  /// `shown`: the text is sent to the client. Otherwise it is only searched for stop strings.
  PartText(std::vector<std::string> stops, bool shown) : stops_(std::move(stops)), shown_(shown) {}

  /// Begins a part. Call it for the first part, too.
  void begin() { text_.emplace(stops_); }
  /// Sets whether a separator precedes the next words.
  void stand_apart(bool apart) { apart_ = apart; }
  /// Adds the bytes of a token.
  void push(std::string_view bytes, StepOutput& out) { show(text_->push(bytes), out); }
  /// Ends the part and sends the rest of its text.
  void finish(StepOutput& out) { show(text_->finish(), out); }
  bool stopped() const { return text_->stopped(); }

 private:
  static constexpr const char* kBetweenParts = "\n\n";  // also used if speech comes in between

  void show(std::string_view text, StepOutput& out) {
    if (!shown_ || text.empty()) return;
    if (std::exchange(apart_, false)) out.text(kBetweenParts);
    out.text(text);
  }

  const std::vector<std::string> stops_;
  const bool shown_;
  std::optional<llm::AnswerText> text_;  // the text of the current part; empty between parts
  bool apart_ = false;  // the current part needs a separator before its first words
};

}  // namespace syrinx::bagpiper
