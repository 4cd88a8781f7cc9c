// Questions as they come in, for `bench --predict`: what is known of each at which time. Typed at
// with a speed in characters a second, heard by a recogniser that takes words back, or read from a
// file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace syrinx {

/// A question and how it became known. Seconds from the moment the question begins; times never
/// fall.
struct TimedQuestion {
  struct Update {
    double at_s = 0;
    std::string text;  ///< all that is known by then; it may differ from before in any way
  };
  std::vector<Update> updates;
  std::string text;  ///< all of it
  double end_s = 0;  ///< when it has ended, and is asked
};

/// A few dozen built-in questions.
std::vector<std::string> built_in_questions();

/// An update a character; the end comes with the last one.
TimedQuestion typed_question(const std::string& text, double characters_a_second = 10);

/// Word by word as a recogniser hears a voice of 150 words a minute; the end comes half a second
/// after the last word. With each new word one of the last two may be heard wrong, until later
/// words make it clear: more than half of the updates rewrite something (of PredGen's own traces 52
/// %). What is heard wrong follows from the seed.
TimedQuestion heard_question(const std::string& text, unsigned seed);

/// JSON Lines, a question each:
///   {"updates": [[0.0, "What"], [0.4, "What is"]], "text": "What is it?", "end": 1.2}
/// Without "end" it ends with its last update. Throws LoadError with file and line: no such file,
/// another shape, times that fall or are no numbers, more than kMostUpdates or kMostBytes.
std::vector<TimedQuestion> load_questions(const std::string& path);
/// The same from the content of such a file; `path` is for errors.
std::vector<TimedQuestion> parse_questions(std::string_view lines, const std::string& path);

inline constexpr size_t kMostUpdates = 100'000, kMostBytes = size_t{64} << 20;
inline constexpr double kLongestQuestion_s = 3600;

}  // namespace syrinx
