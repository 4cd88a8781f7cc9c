#include "cli/speak/subtitles.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <vector>

#include "text/sentence_rules.h"
#include "text/sentences.h"
#include "text/utf8.h"

namespace syrinx {
namespace {

constexpr size_t kMaxCueChars = 42;

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

/// The characters between two words, as a viewer should see them.
struct Between {
  std::string tail, lead;  ///< what follows the first word, what precedes the second word
  bool space = false;      ///< white space separates the words
};

/// Returns the bytes of the tag or bracket that begins at `at` and ends in the same text, such as
/// "<break/>", "[pause 1s]", "[^1]"; otherwise 0.
size_t tag_bytes(std::string_view text, size_t at) {
  if (text[at] != '<' && text[at] != '[') return 0;
  const size_t end = text.find(text[at] == '<' ? '>' : ']', at);
  return end == text.npos ? 0 : end + 1 - at;
}

/// Splits the text between two words. Omits tags, signs of markup and runs that are not spoken,
/// except dashes.
Between between(std::string_view text) {
  std::vector<std::string> runs = {""};
  for (size_t at = 0; at < text.size();) {
    const size_t tag = tag_bytes(text, at);
    const bool space = std::string_view(" \t\r\n").find(text[at]) != std::string_view::npos;
    if (space || tag > 0) {
      runs.emplace_back();
    } else if (std::string_view("*_`~#|").find(text[at]) == std::string_view::npos) {
      runs.back() += text[at];
    }
    at += std::max<size_t>(tag, 1);
  }
  Between out{runs.front(), "", runs.size() > 1};
  if (out.space) out.lead = runs.back();
  for (size_t i = 1; i + 1 < runs.size(); ++i) {
    for (const std::string_view dash : {"-", "--", "\u2013", "\u2014"}) {
      if (runs[i] == dash) out.tail += ' ' + runs[i];
    }
  }
  return out;
}

/// Returns the words inside the text, in the order of the text.
std::vector<WordMark> in_order(std::string_view text, std::span<const WordMark> words) {
  std::vector<WordMark> out;
  for (const WordMark& word : words) {
    if (inside(word, text) && (out.empty() || word.begin >= out.back().end)) out.push_back(word);
  }
  return out;
}

/// Formats a line with a start time, a text and a line feed: "1.24 what". The time is
/// right-aligned.
std::string line_at(int64_t frame, double frame_rate, std::string_view what) {
  std::array<char, 32> time{};
  std::snprintf(time.data(), time.size(), "%8.2f  ", static_cast<double>(frame) / frame_rate);
  return time.data() + std::string(what) + "\n";
}

}  // namespace

std::string to_srt(std::string_view text, std::span<const WordMark> marks, double frame_rate,
                   double audio_s) {
  const std::vector<WordMark> words = in_order(text, marks);
  const std::vector<Sentence> sentences = split_sentences(text);
  auto sentence = sentences.begin();
  std::vector<Cue> cues;
  Between before;
  for (size_t i = 0, end = 0; i < words.size(); ++i) {
    const auto begin = static_cast<size_t>(words[i].begin);
    if (i == 0) before = between(' ' + std::string(text.substr(0, begin)));
    bool begins = cues.empty();
    for (; sentence != sentences.end() && sentence->begin <= begin; ++sentence) {
      begins |= sentence->begin >= end;
    }
    end = static_cast<size_t>(words[i].end);
    const size_t next =
        i + 1 < words.size() ? static_cast<size_t>(words[i + 1].begin) : text.size();
    Between after = between(text.substr(end, next - end));
    const std::string word = before.lead + std::string(bytes(text, words[i])) + after.tail;
    const size_t space = before.space ? 1 : 0;
    const bool may_break = before.space || is_wide_letter(utf8_at(text, begin).value);
    begins |= !cues.empty() && may_break &&
              utf8_count(cues.back().text) + space + utf8_count(word) > kMaxCueChars;
    if (begins) {
      cues.push_back({static_cast<double>(words[i].frame) / frame_rate, word});
    } else {
      cues.back().text += std::string(space, ' ') + word;
    }
    before = std::move(after);
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
