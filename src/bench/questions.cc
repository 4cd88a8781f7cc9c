#include "bench/questions.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "io/file.h"

namespace syrinx {
namespace {

constexpr double kWordsASecond = 2.5;  // words per second; 150 per minute
constexpr double kPause_s = 0.5;       // pause after which a turn has ended

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> out;
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find(' ', at), text.size());
    if (end > at) out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

std::string joined(const std::vector<std::string>& words, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += (i > 0 ? " " : "") + words[i];
  return out;
}

/// Returns the word with another vowel, like a recogniser's error.
std::string misheard(std::string word, std::mt19937& dice) {
  constexpr std::string_view kVowels = "aeiou";
  for (char& letter : word) {
    const size_t at = kVowels.find(letter);
    if (at == kVowels.npos) continue;
    letter = kVowels[(at + 1 + dice() % (kVowels.size() - 1)) % kVowels.size()];
    return word;
  }
  return word + "s";
}

}  // namespace

std::vector<std::string> built_in_questions() {
  return {"What time is it?",
          "How many minutes are there in two hours?",
          "Can you tell me what the capital of France is?",
          "Please set a timer for ten minutes.",
          "What is seven times eight?",
          "How do you spell the word necessary?",
          "Good morning, how are you today?",
          "What is the difference between a crow and a raven?",
          "I would like to know how long it takes to boil an egg.",
          "Who wrote the play about the prince of Denmark?",
          "What should I wear when it rains and it is cold outside?",
          "How far is it from the earth to the moon?",
          "Tell me a short story about a fox, please.",
          "Is it true that honey never goes bad?",
          "What can I cook with rice, two eggs and an onion?",
          "Why is the sky blue in the day and red in the evening?"};
}

std::vector<TimedQuestion> spread_questions(std::vector<TimedQuestion> questions, size_t most) {
  if (most == 0 || questions.size() <= most) return questions;
  std::vector<TimedQuestion> out;
  for (size_t i = 0; i < most; ++i) {
    out.push_back(std::move(questions[i * questions.size() / most]));
  }
  return out;
}

TimedQuestion typed_question(const std::string& text, double characters_a_second) {
  SYRINX_CHECK(characters_a_second > 0);
  TimedQuestion out;
  out.text = text;
  int typed = 0;
  for (size_t end = 1; end <= text.size(); ++end) {
    const bool inside = end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80;
    if (inside) continue;  // continuation byte of a character
    out.updates.push_back({++typed / characters_a_second, text.substr(0, end)});
  }
  out.end_s = typed / characters_a_second;
  return out;
}

TimedQuestion heard_question(const std::string& text, unsigned seed) {
  std::mt19937 dice(seed);
  const std::vector<std::string> words = words_of(text);
  TimedQuestion out;
  out.text = text;
  for (size_t count = 1; count <= words.size(); ++count) {
    std::vector<std::string> heard = words;
    if (count < words.size() && dice() % 2 == 0) {
      const size_t which = count - 1 - (count > 1 ? dice() % 2 : 0);
      heard[which] = misheard(heard[which], dice);
    }
    out.updates.push_back({static_cast<double>(count) / kWordsASecond, joined(heard, count)});
  }
  out.end_s = static_cast<double>(words.size()) / kWordsASecond + kPause_s;
  return out;
}

std::vector<TimedQuestion> load_questions(const std::string& path) {
  return parse_questions(read_file(path, kMostBytes), path);
}

std::vector<TimedQuestion> parse_questions(std::string_view lines, const std::string& path) {
  using Value = nlohmann::json;
  if (lines.size() > kMostBytes)
    throw LoadError(concat(path, ": more than ", kMostBytes, " bytes"));
  std::vector<TimedQuestion> out;
  size_t updates = 0;
  for (int number = 1; !lines.empty(); ++number) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 1, lines.size()));
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    const auto fail = [&](const char* why) {
      throw LoadError(concat(path, ":", number, ": ", why));
    };
    const Value json = Value::parse(line, nullptr, false);
    if (!json.is_object()) fail("expected a JSON object");
    if (!json.contains("text") || !json["text"].is_string()) fail("'text' must be a string");
    if (!json.contains("updates") || !json["updates"].is_array()) fail("'updates' must be a list");
    TimedQuestion question;
    question.text = json["text"];
    const auto time = [&](const Value& value) {
      if (!value.is_number()) fail("a time must be a number");
      const double at_s = value;
      if (!(at_s >= question.end_s)) fail("times must not decrease");
      if (at_s > kLongestQuestion_s) fail("a question must not last more than an hour");
      question.end_s = at_s;
    };
    for (const Value& update : json["updates"]) {
      if (!update.is_array() || update.size() != 2 || !update[1].is_string()) {
        fail("an update must be [seconds, text]");
      }
      time(update[0]);
      question.updates.push_back({question.end_s, update[1]});
      if (++updates > kMostUpdates) fail("there are too many updates");
    }
    if (json.contains("end")) time(json["end"]);
    out.push_back(std::move(question));
  }
  if (out.empty()) throw LoadError(path + ": the file has no question");
  return out;
}

}  // namespace syrinx
