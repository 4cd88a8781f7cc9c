// From the attention across of an aligned text (families/whisper/alignment.h) to the times of
// words, as Whisper's authors do it: the cheapest rising path through the matrix of ids and
// moments; ids joined to words; punctuation joined to its word; words that last too long cut short.
// Pure; any thread. Source: whisper:whisper/timing.py (dtw, find_alignment, merge_punctuations,
// add_word_timestamps) and tokenizer.py (split_to_word_tokens).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ears/recogniser.h"
#include "families/whisper/alignment.h"
#include "text/tokens/tokenizer.h"

namespace syrinx {

/// Some ids of a text that are said as one.
struct HeardWord {
  std::string text;  ///< with the blanks before it; empty: it went to a neighbour
  size_t ids = 0;
  double start_s = 0, end_s = 0;  ///< from the beginning of the window
  float probability = 0;
};

/// The column at which each row of `gain` [rows, columns] begins on the path of the largest sum
/// from the first cell to the last, each step of which goes to the next row, the next column, or
/// both.
std::vector<int> path_begins(std::span<const float> gain, int rows, int columns);

/// The texts of the words of `ids`, and how many ids each has. In languages that part words by
/// blanks, a word begins with one, or is punctuation; in others it is a character.
std::vector<HeardWord> words_of_ids(const Tokenizer& tokenizer, std::span<const int32_t> ids,
                                    bool blanks);

/// Opening marks go to the word after them, others to the word before.
void merge_punctuation(std::vector<HeardWord>& words);

/// The words of an alignment that is done, punctuation still by itself.
std::vector<HeardWord> heard_words(const Tokenizer& tokenizer, const whisper::Alignment& alignment);

/// The fields of segments that words change.
struct TimedSegments {
  std::span<TranscriptSegment> segments;  ///< of one window, in order; get words, start and end
  std::span<const size_t> ids;            ///< of text in each
  double window_s = 0;                    ///< where the window begins
  double last_speech_s = 0;               ///< the end of the segment before, of any window
};
/// `words` are those of all segments together. Returns the end of the last of them; of the last
/// segment where there are none.
double time_segments(const TimedSegments& all, std::vector<HeardWord> words);

}  // namespace syrinx
