// The length of speech by a rule from its text, and the pieces into which a long text is cut. Free
// functions; any thread; texts are UTF-8. Source: omnivoice 0.2.1, omnivoice/utils/duration.py
// (RuleDurationEstimator) and utils/text.py (chunk_text_punctuation).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace syrinx::omnivoice {

/// Returns the time in which a text is spoken, relative to that of a Latin letter. It is the sum of
/// the weights of its characters.
double spoken_weight(std::string_view text);

/// A text and the frames in which it was spoken. By default the authors' example.
struct Pace {
  std::string text = "Nice to meet you.";
  int64_t frames = 25;
};

/// Returns the number of frames of `text`, at least 1. `speed` divides it. An estimate below 50
/// frames is raised: 50 (x / 50)^(1/3).
int64_t estimated_frames(std::string_view text, const Pace& pace, double speed);

/// Cuts a text behind punctuation into pieces of at most `most` characters. A stretch without
/// punctuation is not cut, even if it is longer. Abbreviations such as "Dr." do not end a piece. A
/// piece shorter than 3 characters joins the one before it, or, as the first, the second.
std::vector<std::string> pieces_of(std::string_view text, int64_t most);

}  // namespace syrinx::omnivoice
