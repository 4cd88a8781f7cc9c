// Computes times of words and characters from the engine's marks of word beginnings. Free functions
// over plain data; thread-safe.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/sequence.h"

namespace syrinx {

/// A word of an utterance and its time in seconds from the utterance's first sample.
struct TimedWord {
  std::string text;  ///< the word; `tail`: the characters between it and the next word
  std::string tail = {};
  double begin_s = 0, end_s = 0;
};

/// Returns the words at `marks` (bytes of `text`), each with the characters up to the next word. A
/// word ends where the next begins, the last at end_s. Ignores marks outside the text.
std::vector<TimedWord> timed_words(const std::string& text, std::span<const WordMark> marks,
                                   double frames_per_s, double end_s);

/// Returns the words whose end is known (all except the last one) and removes them from `marks`.
/// With `all`, also returns and removes the last word, which ends at end_s.
std::vector<TimedWord> take_finished_words(const std::string& text, std::vector<WordMark>& marks,
                                           double frames_per_s, double end_s, bool all);

/// A character with its time. The characters of a word and its tail share its time evenly.
struct TimedCharacter {
  std::string text;
  double begin_s = 0, end_s = 0;
};
std::vector<TimedCharacter> timed_characters(std::span<const TimedWord> words);

}  // namespace syrinx
