// Speech from the microphone, turn by turn. A turn begins with speech, ends with a pause, and is
// recognised while it is spoken. Main thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "ears/recogniser.h"

namespace syrinx {

/// The words of a turn and its times; seconds of now_s().
struct HeardTurn {
  std::string words;
  double voice_end_s = 0;  ///< when the last speech was recorded
  double turn_end_s = 0;   ///< when the pause after it was long enough to end the turn
  double words_s = 0;      ///< when the recogniser had returned all words
};

/// A microphone with its recogniser, for one turn after another.
class Listening {
 public:
  /// `recorder` is a shell command (cli/talk/microphone.h).
  Listening(std::shared_ptr<Recogniser> ears, std::string recorder)
      : ears_(std::move(ears)), recorder_(std::move(recorder)) {}

  /// Waits for the next turn and returns it; its words may be empty. Returns nothing if the
  /// recorder ended before a turn. Calls so_far(words) when the words so far change. Between two
  /// turns the microphone is off, so that it does not record the answer. Throws LoadError.
  std::optional<HeardTurn> turn(const std::function<void(const std::string&)>& so_far);

 private:
  const std::shared_ptr<Recogniser> ears_;
  const std::string recorder_;
};

}  // namespace syrinx
