#include "cli/speak/subtitles.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <vector>

namespace syrinx {
namespace {

constexpr size_t kMaxCueBytes = 42;

struct Cue {
  double start_s = 0;
  std::string text;
};

bool inside(const WordMark& word, std::string_view text) {
  return 0 <= word.begin && word.begin < word.end && word.end <= static_cast<int64_t>(text.size());
}

std::string_view bytes(std::string_view text, const WordMark& word) {
  return text.substr(static_cast<size_t>(word.begin), static_cast<size_t>(word.end - word.begin));
}

/// Formats a time: "00:01:02,345".
std::string srt_time(double seconds) {
  const auto ms = static_cast<long long>(std::llround(seconds * 1000));
  std::array<char, 40> out{};
  std::snprintf(out.data(), out.size(), "%02lld:%02lld:%02lld,%03lld", ms / 3'600'000,
                ms / 60'000 % 60, ms / 1000 % 60, ms % 1000);
  return out.data();
}

/// Returns the word with the characters before the next word: punctuation, quotes.
std::string with_tail(std::string_view text, const WordMark& word, int64_t next_begin) {
  const auto begin = static_cast<size_t>(word.begin);
  std::string_view out = text.substr(begin, static_cast<size_t>(next_begin) - begin);
  const size_t word_bytes = static_cast<size_t>(word.end - word.begin);
  const size_t space = out.find_first_of(" \t\r\n<[", word_bytes);
  return std::string(out.substr(0, space));
}

bool ends_sentence(const std::string& word) {
  return word.find_last_of(".!?") != std::string::npos &&
         word.find_last_of(".!?") + 2 >= word.size();
}

/// Formats a line with a start time, a text and a line feed: "1.24 what". The time is
/// right-aligned.
std::string line_at(int64_t frame, double frame_rate, std::string_view what) {
  std::array<char, 32> time{};
  std::snprintf(time.data(), time.size(), "%8.2f  ", static_cast<double>(frame) / frame_rate);
  return time.data() + std::string(what) + "\n";
}

}  // namespace

std::string to_srt(std::string_view text, std::span<const WordMark> words, double frame_rate,
                   double audio_s) {
  std::vector<Cue> cues;
  bool begin_cue = true;
  for (size_t i = 0; i < words.size(); ++i) {
    if (!inside(words[i], text)) continue;
    const bool more =
        i + 1 < words.size() && inside(words[i + 1], text) && words[i + 1].begin >= words[i].end;
    const std::string word =
        with_tail(text, words[i], more ? words[i + 1].begin : static_cast<int64_t>(text.size()));
    if (begin_cue || cues.back().text.size() + 1 + word.size() > kMaxCueBytes) {
      cues.push_back({static_cast<double>(words[i].frame) / frame_rate, word});
    } else {
      cues.back().text += " " + word;
    }
    begin_cue = ends_sentence(word);
  }
  std::string out;
  for (size_t i = 0; i < cues.size(); ++i) {
    const double end_s = i + 1 < cues.size() ? cues[i + 1].start_s : audio_s;
    out += std::to_string(i + 1) + "\n" + srt_time(cues[i].start_s) + " --> " + srt_time(end_s) +
           "\n" + cues[i].text + "\n\n";
  }
  return out;
}

std::string word_lines(std::string_view text, std::span<const WordMark> words, double frame_rate) {
  std::string out;
  for (const WordMark& word : words) {
    if (inside(word, text)) out += line_at(word.frame, frame_rate, bytes(text, word));
  }
  return out;
}

std::string phone_lines(std::span<const PhoneMark> phones, double frame_rate) {
  std::string out;
  for (const PhoneMark& mark : phones) out += line_at(mark.frame, frame_rate, mark.phone);
  return out;
}

}  // namespace syrinx
