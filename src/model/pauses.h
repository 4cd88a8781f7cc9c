// Reads the pause tags of a text, for every model: <break time="0.5s"/> as in SSML (also "500ms",
// '500ms', and without the slash) and [pause 0.5s]. Other tags stay in the text, because some
// models read tags. One thread at a time.
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
  bool pause = false;  ///< whether the piece is a pause; `text` is then the tag
  double pause_s = 0;
};

/// Cuts a text that arrives in pieces at its tags. The joined pieces of the output equal the input.
class PauseReader {
 public:
  /// Appends the pieces whose ends are known; `last`: no more text comes. Returns an Error with the
  /// parameter "input" if a pause exceeds kMaxPause_s, or the sum of all exceeds kMaxPauses_s.
  Status push(std::string_view text, bool last, std::vector<PausePiece>& out);

 private:
  std::string held_;  // text that may be the beginning of a tag
  double together_s_ = 0, all_s_ = 0;
};

/// Returns whether a text has an ASCII letter, a digit or a non-ASCII byte. Others yield no speech.
bool is_speakable(std::string_view text);

}  // namespace syrinx
