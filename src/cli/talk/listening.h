// Speech from the microphone, turn by turn. A turn begins with speech, ends with a pause whose
// length depends on the words (ears/end_of_turn.h), and is recognised while it is spoken, or in the
// pause. Main thread.
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
  /// `recorder` is a shell command (cli/talk/microphone.h). `partials`: whether turn() needs the
  /// words so far also of a recogniser of whole utterances, which then runs again and again.
  Listening(std::shared_ptr<Recogniser> ears, std::string recorder, bool partials)
      : ears_(std::move(ears)), recorder_(std::move(recorder)), partials_(partials) {}

  /// Waits for the next turn and returns it; its words may be empty. Returns nothing if the
  /// recorder ended before a turn. Calls so_far(words, pauses) when the words so far change;
  /// `pauses`: whether the user pauses. Between two turns the microphone is off, so that it does not
  /// record the answer. Throws LoadError.
  using SoFar = std::function<void(const std::string& words, bool pauses)>;
  std::optional<HeardTurn> turn(const SoFar& so_far);

 private:
  std::unique_ptr<Listener> open(std::shared_ptr<TranscriptSink> sink) const;

  const std::shared_ptr<Recogniser> ears_;
  const std::string recorder_;
  const bool partials_;
};

}  // namespace syrinx
