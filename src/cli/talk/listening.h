// What a user says into the microphone, a turn at a time: it begins with a voice, ends with a
// pause, and is recognised while it is spoken. Main thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "ears/recogniser.h"

namespace syrinx {

/// What was said in a turn, and when; seconds of now_s().
struct HeardTurn {
  std::string words;
  double voice_end_s = 0;  ///< the last voice came out of the recorder
  double turn_end_s = 0;   ///< the pause was long enough
  double words_s = 0;      ///< the words were there
};

/// A microphone and its recogniser, for one turn after another.
class Listening {
 public:
  /// `recorder` is a command for the shell (cli/microphone.h).
  Listening(std::shared_ptr<Recogniser> ears, std::string recorder)
      : ears_(std::move(ears)), recorder_(std::move(recorder)) {}

  /// Waits for the next turn and returns it; its words may be none. Returns nothing when the
  /// recorder ended without one. `so_far` hears what seems to be said, as it changes. Between two
  /// turns the microphone is off, so that an answer is not heard. Throws LoadError.
  std::optional<HeardTurn> turn(const std::function<void(const std::string&)>& so_far);

 private:
  const std::shared_ptr<Recogniser> ears_;
  const std::string recorder_;
};

}  // namespace syrinx
