#include "server/request/timed_words.h"

#include <algorithm>

#include "text/utf8.h"

namespace syrinx {

std::vector<TimedWord> timed_words(const std::string& text, std::span<const WordMark> marks,
                                   double frames_per_s, double end_s) {
  std::vector<TimedWord> out;
  const auto size = static_cast<int64_t>(text.size());
  int64_t after = 0;
  for (size_t i = 0; i < marks.size(); ++i) {
    const WordMark& mark = marks[i];
    if (mark.begin < after || mark.end <= mark.begin || mark.end > size) continue;
    after = mark.end;
    const int64_t next =
        i + 1 < marks.size() ? std::clamp(marks[i + 1].begin, mark.end, size) : size;
    const double begin_s = static_cast<double>(mark.frame) / frames_per_s;
    if (!out.empty()) out.back().end_s = std::max(out.back().begin_s, begin_s);
    out.push_back(
        {.text = text.substr(static_cast<size_t>(mark.begin),
                             static_cast<size_t>(mark.end - mark.begin)),
         .tail = text.substr(static_cast<size_t>(mark.end), static_cast<size_t>(next - mark.end)),
         .begin_s = begin_s,
         .end_s = std::max(begin_s, end_s)});
  }
  return out;
}

std::vector<TimedWord> take_finished_words(const std::string& text, std::vector<WordMark>& marks,
                                           double frames_per_s, double end_s, bool all) {
  if (marks.empty() || (!all && marks.size() == 1)) return {};
  std::vector<TimedWord> out = timed_words(text, marks, frames_per_s, end_s);
  marks.erase(marks.begin(), marks.end() - (all ? 0 : 1));
  if (!all && !out.empty()) out.pop_back();  // the word stays in `marks` until its end is known
  return out;
}

std::vector<TimedCharacter> timed_characters(std::span<const TimedWord> words) {
  std::vector<TimedCharacter> out;
  for (const TimedWord& word : words) {
    const std::string text = word.text + word.tail;
    const size_t count = utf8_count(text);
    const auto edge_s = [&](size_t i) {
      return word.begin_s +
             (word.end_s - word.begin_s) * static_cast<double>(i) / static_cast<double>(count);
    };
    size_t i = 0;
    for (size_t at = 0; at < text.size(); ++i) {
      const size_t size = utf8_at(text, at).size;
      out.push_back({text.substr(at, size), edge_s(i), edge_s(i + 1)});
      at += size;
    }
  }
  return out;
}

}  // namespace syrinx
