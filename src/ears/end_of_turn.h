// Decides whether a pausing speaker has finished, from the words so far and from the pitch at their
// end. These rules implement OpenAI's `semantic_vad`. A complete sentence needs a short pause; a
// sentence that breaks off after "and" needs a long pause. Text without punctuation needs a medium
// pause, or a short pause if the pitch fell. A model that detects the end of a turn
// (ears/smart_turn.h, TranscriptSink::done()) takes precedence over the words. Free functions.
#pragma once

#include <optional>
#include <string_view>

namespace syrinx {

enum class Eagerness { kLow, kMedium, kHigh };

/// Pauses in ms that end a turn.
struct TurnPauses {
  int complete = 0;  ///< after a complete sentence
  int open = 0;      ///< after words that continue
  int unknown = 0;   ///< after words without punctuation whose pitch did not fall
  int longest = 0;   ///< after any words: the longest pause within a turn
};

/// Returns the pauses of an eagerness; `longest` is 8000, 4000 or 2000 ms, as in OpenAI's API.
const TurnPauses& pauses_of(Eagerness eagerness);
/// Returns the pause in ms that ends the turn after this transcript, which may be empty. `fell`:
/// whether the pitch fell. `done`: the model's answer; unset without a model or an answer.
int pause_that_ends_ms(const TurnPauses& pauses, std::string_view transcript, bool fell,
                       std::optional<bool> done = {});

}  // namespace syrinx
