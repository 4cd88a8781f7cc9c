// Computes the times of words from the cross-attention of an aligned text
// (families/whisper/alignment.h), as Whisper's authors do. Finds the cheapest monotonic path
// through the matrix of ids and moments, joins ids to words, joins punctuation to its word, and
// shortens words that last too long. Pure functions; any thread. Source: whisper:whisper/timing.py
// (dtw, find_alignment, merge_punctuations, add_word_timestamps) and tokenizer.py
// (split_to_word_tokens).
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

/// A word: consecutive ids of a text, and their times.
struct HeardWord {
  std::string text;  ///< with the blanks before it; empty if merged into a neighbour
  size_t ids = 0;
  double start_s = 0, end_s = 0;  ///< seconds from the beginning of the window
  float probability = 0;
};

/// Finds the path with the largest sum through `gain` [rows, columns], from the first cell to the
/// last. Each step goes to the next row, the next column, or both. Returns the column at which the
/// path enters each row.
std::vector<int> path_begins(std::span<const float> gain, int rows, int columns);

/// Returns the words of `ids`, with the text and the number of ids of each word. With `blanks`, the
/// language separates words by blanks, so a word begins with a blank or is punctuation. Otherwise
/// each character is a word.
std::vector<HeardWord> words_of_ids(const Tokenizer& tokenizer, std::span<const int32_t> ids,
                                    bool blanks);

/// Joins opening marks to the next word, and other punctuation to the previous word.
void merge_punctuation(std::vector<HeardWord>& words);

/// Returns the words of a finished alignment, with punctuation as separate words.
std::vector<HeardWord> heard_words(const Tokenizer& tokenizer, const whisper::Alignment& alignment);

/// The segments of a window whose words and times are to be set.
struct TimedSegments {
  /// the segments of one window, in order; their words, start and end are set
  std::span<TranscriptSegment> segments;
  std::span<const size_t> ids;  ///< number of text ids in each segment
  double window_s = 0;          ///< beginning of the window
  double last_speech_s = 0;     ///< end of the previous segment, of any window
};
/// Sets the words and times of the segments. `words` are the words of all segments together.
/// Returns the end of the last word, or of the last segment if `words` is empty.
double time_segments(const TimedSegments& all, std::vector<HeardWord> words);

}  // namespace syrinx
