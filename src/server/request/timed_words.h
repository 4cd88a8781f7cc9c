// The times of words and characters, made from where an engine says that words begin. Free
// functions over plain data; any thread.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "model/sequence.h"

namespace syrinx {

/// A word of an utterance and when it sounds; seconds from the utterance's first sample.
struct TimedWord {
  std::string text;  ///< the word, with what follows it up to the next one in `tail`
  std::string tail = {};
  double begin_s = 0, end_s = 0;
};

/// The words at `marks`, bytes of `text`, each with what follows it up to the next. A word ends
/// where the next begins, the last one at end_s. Marks outside the text are skipped.
std::vector<TimedWord> timed_words(const std::string& text, std::span<const WordMark> marks,
                                   double frames_per_s, double end_s);

/// Takes from `marks` the words whose end is known: all but the last one, or with `all` that too,
/// at end_s.
std::vector<TimedWord> take_finished_words(const std::string& text, std::vector<WordMark>& marks,
                                           double frames_per_s, double end_s, bool all);

/// The characters of a word, and what follows it, share its time evenly.
struct TimedCharacter {
  std::string text;
  double begin_s = 0, end_s = 0;
};
std::vector<TimedCharacter> timed_characters(std::span<const TimedWord> words);

}  // namespace syrinx
