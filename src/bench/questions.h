// Questions that arrive over time, for `bench --predict`: typed at a speed in characters per
// second, recognised by a recogniser that corrects earlier words, or read from a file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace syrinx {

/// A question and its partial texts. Times are seconds from the beginning of the question and never
/// decrease.
struct TimedQuestion {
  struct Update {
    double at_s = 0;
    std::string text;  ///< the partial text; it may differ from the previous text in any way
  };
  std::vector<Update> updates;
  std::string text;  ///< the whole text
  double end_s = 0;  ///< when the question ends and is asked
};

/// Returns the 16 built-in questions.
std::vector<std::string> built_in_questions();

/// Returns `most` of the questions, spread evenly over the list and in its order; all if there are
/// no more, or if `most` is 0.
std::vector<TimedQuestion> spread_questions(std::vector<TimedQuestion> questions, size_t most);

/// Returns a question with an update for each character; it ends with the last update.
TimedQuestion typed_question(const std::string& text, double characters_a_second = 10);

/// Returns a question as a recogniser reports it for speech of 150 words a minute: an update for
/// each word, and the end half a second after the last word. In each update one of the last two
/// words may be wrong; later updates correct it. More than half of the updates change earlier words
/// (in PredGen's own traces 52 %). The seed determines the errors.
TimedQuestion heard_question(const std::string& text, unsigned seed);

/// Reads JSON Lines, one question each: {"updates": [[0.0, "What"], [0.4, "What is"]],
///   "text": "What is it?", "end": 1.2} Without "end" the question ends with its last
///   update. Throws LoadError with file and line for a missing file, other JSON,
///   decreasing times, times that are not numbers, or more than kMostUpdates or
///   kMostBytes.
std::vector<TimedQuestion> load_questions(const std::string& path);
/// Reads the content of a file of questions; `path` is for errors.
std::vector<TimedQuestion> parse_questions(std::string_view lines, const std::string& path);

inline constexpr size_t kMostUpdates = 100'000, kMostBytes = size_t{64} << 20;
inline constexpr double kLongestQuestion_s = 3600;

}  // namespace syrinx
