// Reads the pauses that tags in a text ask for, for every model: <break time="0.5s"/> as in SSML
// (also "500ms", '500ms', and without the slash) and [pause 0.5s]. Other tags stay in the text, as
// some models read tags. One thread at a time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace syrinx {

constexpr double kMaxPause_s = 10;    ///< longest sum of consecutive pauses
constexpr double kMaxPauses_s = 300;  ///< longest sum of all pauses of a request

/// A piece of a text: words, or a pause.
struct PausePiece {
  std::string text = {};
  bool pause = false;  ///< a pause; `text` is the tag
  double pause_s = 0;
};

/// Cuts a text that arrives in pieces at its tags; the joined output equals the input.
class PauseReader {
 public:
  /// Appends the pieces whose ends are known now; `last`: no more text comes. An Error names
  /// "input": a pause is longer than kMaxPause_s, or all are longer than kMaxPauses_s.
  Status push(std::string_view text, bool last, std::vector<PausePiece>& out);

 private:
  std::string held_;  // text that may be the beginning of a tag
  double together_s_ = 0, all_s_ = 0;
};

/// Returns whether a text has a letter or a digit of any script; else nothing of it is spoken.
bool is_speakable(std::string_view text);

}  // namespace syrinx
