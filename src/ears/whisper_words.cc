#include "ears/whisper_words.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "text/unicode.h"
#include "text/utf8.h"

namespace syrinx {
namespace {

constexpr double kColumnsASecond = 50;
constexpr double kLongestMedian_s = 0.7;
constexpr std::string_view kEnd =
    "<|endoftext|>";  // text of the id that ends a text, in the authors' code
constexpr std::string_view kSentenceEnds = ".。!！?？";
constexpr std::string_view kOpening = "\"'“¿([{-";
constexpr std::string_view kClosing = "\"'.。,，!！?？:：”)]}、";
constexpr std::string_view kAscii = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";

/// Returns the result of Python's `part in whole`.
bool is_in(std::string_view part, std::string_view whole) { return whole.find(part) != whole.npos; }

/// Returns the result of Python's str.strip().
std::string_view trimmed(std::string_view text) {
  while (!text.empty()) {
    const CodePoint first = utf8_at(text, 0);
    if (!is_space(first.value)) break;
    text.remove_prefix(first.size);
  }
  while (!text.empty()) {
    const CodePoint last = utf8_before(text, text.size());
    if (!is_space(last.value)) break;
    text.remove_suffix(last.size);
  }
  return text;
}

std::vector<char32_t> characters(std::string_view text) {
  std::vector<char32_t> out;
  for (size_t at = 0; at < text.size();) {
    const CodePoint code = utf8_at(text, at);
    out.push_back(code.value);
    at += code.size;
  }
  return out;
}

/// Joins ids that form whole characters only together. The last part is the id that ends a text.
std::vector<HeardWord> whole_characters(const Tokenizer& tokenizer, std::span<const int32_t> ids) {
  const auto bytes = [&](size_t i) {
    return i < ids.size() ? tokenizer.bytes(ids[i]) : std::string(kEnd);
  };
  std::string joined;
  for (size_t i = 0; i <= ids.size(); ++i) joined += bytes(i);
  const std::vector<char32_t> all = characters(utf8_repair(joined));
  std::vector<HeardWord> out;
  std::string current;
  size_t taken = 0, done = 0;  // number of ids in `current`; number of characters before it
  for (size_t i = 0; i <= ids.size(); ++i) {
    current += bytes(i);
    ++taken;
    const std::string text = utf8_repair(current);
    const std::vector<char32_t> codes = characters(text);
    const auto broken = std::find(codes.begin(), codes.end(), kReplacement);
    const size_t at = done + static_cast<size_t>(broken - codes.begin());
    // Keeps a broken character that is broken in the whole text, too.
    if (broken != codes.end() && (at >= all.size() || all[at] != kReplacement)) continue;
    out.push_back({.text = text, .ids = taken});
    done += codes.size();
    current.clear();
    taken = 0;
  }
  return out;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// Shortens words next to the end of a sentence that last longer than `most_s`, because they
/// include a pause.
void cut_at_sentences(std::vector<HeardWord>& words, double most_s) {
  for (size_t i = 1; i < words.size(); ++i) {
    HeardWord& word = words[i];
    if (word.end_s - word.start_s <= most_s) continue;
    if (is_in(word.text, kSentenceEnds)) {
      word.end_s = word.start_s + most_s;
    } else if (is_in(words[i - 1].text, kSentenceEnds)) {
      word.start_s = word.end_s - most_s;
    }
  }
}

double to_hundredths(double seconds) { return std::nearbyint(seconds * 100) / 100; }

/// Shortens words next to the pauses before and after a segment. The segment gets the times of its
/// words, unless they differ too much from its own times.
void cut_at_ends(TranscriptSegment& segment, double last_speech_s, double median_s) {
  std::vector<TranscriptWord>& words = segment.words;
  TranscriptWord& first = words.front();
  const double most_s = median_s * 2;
  const bool two = words.size() > 1;
  if (first.end_s - last_speech_s > median_s * 4 &&
      (first.end_s - first.start_s > most_s ||
       (two && words[1].end_s - first.start_s > most_s * 2))) {
    if (two && words[1].end_s - words[1].start_s > most_s) {
      first.end_s = words[1].start_s = std::max(words[1].end_s / 2, words[1].end_s - most_s);
    }
    first.start_s = std::max(0., first.end_s - most_s);
  }
  if (segment.start_s < first.end_s && segment.start_s - 0.5 > first.start_s) {
    first.start_s = std::max(0., std::min(first.end_s - median_s, segment.start_s));
  } else {
    segment.start_s = first.start_s;
  }
  TranscriptWord& last = words.back();
  if (segment.end_s > last.start_s && segment.end_s + 0.5 < last.end_s) {
    last.end_s = std::max(last.start_s + median_s, segment.end_s);
  } else {
    segment.end_s = last.end_s;
  }
}

}  // namespace

std::vector<int> path_begins(std::span<const float> gain, int rows, int columns) {
  constexpr float kNever = std::numeric_limits<float>::infinity();
  enum Way : uint8_t { kBoth, kRow, kColumn };
  const size_t height = size_t(rows) + 1;
  std::vector<float> before(height, kNever), now(height, kNever);  // costs of the cells in a column
  before[0] = 0;
  std::vector<uint8_t> steps(size_t(rows) * size_t(columns));
  for (int c = 0; c < columns; ++c) {
    now[0] = kNever;
    for (int r = 0; r < rows; ++r) {
      const float both = before[r], row = now[r], column = before[r + 1];
      Way step = kColumn;
      if (both < row && both < column) step = kBoth;
      if (row < both && row < column) step = kRow;
      const float least = step == kBoth ? both : step == kRow ? row : column;
      now[r + 1] = least - gain[size_t(r) * columns + c];
      steps[size_t(r) * columns + c] = step;
    }
    std::swap(before, now);
  }
  std::vector<int> begins(static_cast<size_t>(rows), 0);
  for (int r = rows - 1, c = columns - 1; r >= 0 && c >= 0;) {
    begins[r] = c;
    const auto step = r == 0 ? kColumn : c == 0 ? kRow : Way{steps[size_t(r) * columns + c]};
    r -= step != kColumn ? 1 : 0;
    c -= step != kRow ? 1 : 0;
  }
  return begins;
}

std::vector<HeardWord> words_of_ids(const Tokenizer& tokenizer, std::span<const int32_t> ids,
                                    bool blanks) {
  std::vector<HeardWord> parts = whole_characters(tokenizer, ids);
  if (!parts.empty()) parts.pop_back();  // removes the id that ends the text
  if (!blanks) return parts;
  std::vector<HeardWord> words;
  for (HeardWord& part : parts) {
    if (words.empty() || part.text.starts_with(' ') || is_in(trimmed(part.text), kAscii)) {
      words.push_back(std::move(part));
    } else {
      words.back().text += part.text;
      words.back().ids += part.ids;
    }
  }
  return words;
}

void merge_punctuation(std::vector<HeardWord>& words) {
  const auto move = [](HeardWord& from, HeardWord& to, bool front) {
    to.text = front ? from.text + to.text : to.text + from.text;
    to.ids += from.ids;
    from.text.clear();
    from.ids = 0;
  };
  for (int64_t i = std::ssize(words) - 2, next = i + 1; i >= 0; --i) {
    if (words[i].text.starts_with(' ') && is_in(trimmed(words[i].text), kOpening)) {
      move(words[i], words[next], true);
    } else {
      next = i;
    }
  }
  for (size_t i = 1, last = 0; i < words.size(); ++i) {
    if (!words[last].text.ends_with(' ') && is_in(words[i].text, kClosing)) {
      move(words[i], words[last], false);
    } else {
      last = i;
    }
  }
}

std::vector<HeardWord> heard_words(const Tokenizer& tokenizer, const whisper::Alignment& a) {
  static const std::set<std::string_view> kWithoutBlanks{"zh", "ja", "th", "lo", "my", "yue"};
  const auto begins = path_begins(a.weights, static_cast<int>(std::ssize(a.text)) + 1, a.columns());
  std::vector<HeardWord> words =
      words_of_ids(tokenizer, a.text, !kWithoutBlanks.contains(a.language));
  size_t at = 0;
  for (HeardWord& word : words) {
    const size_t end = at + word.ids;
    word.start_s = begins[at] / kColumnsASecond;
    word.end_s = begins[end] / kColumnsASecond;
    const double sum = std::accumulate(a.probabilities.begin() + static_cast<int64_t>(at),
                                       a.probabilities.begin() + static_cast<int64_t>(end), 0.);
    word.probability = static_cast<float>(sum / static_cast<double>(word.ids));
    at = end;
  }
  return words;
}

double time_segments(const TimedSegments& all, std::vector<HeardWord> words) {
  std::vector<double> lengths;
  for (const HeardWord& word : words)
    if (word.end_s != word.start_s) lengths.push_back(word.end_s - word.start_s);
  const double median_s = std::min(kLongestMedian_s, median(lengths));
  if (!lengths.empty()) cut_at_sentences(words, median_s * 2);
  merge_punctuation(words);
  double last_speech_s = all.last_speech_s, end_s = all.segments.back().end_s;
  size_t next = 0;
  for (size_t i = 0; i < all.segments.size(); ++i) {
    TranscriptSegment& segment = all.segments[i];
    segment.words.clear();
    for (size_t ids = 0; next < words.size() && ids < all.ids[i]; ++next) {
      const HeardWord& word = words[next];
      ids += word.ids;
      if (word.text.empty()) continue;
      segment.words.push_back({.start_s = to_hundredths(all.window_s + word.start_s),
                               .end_s = to_hundredths(all.window_s + word.end_s),
                               .word = std::string(trimmed(word.text)),
                               .probability = word.probability});
    }
    if (segment.words.empty()) continue;
    cut_at_ends(segment, last_speech_s, median_s);
    last_speech_s = segment.end_s;
    end_s = segment.words.back().end_s;
    std::erase_if(segment.words, [](const TranscriptWord& word) { return word.word.empty(); });
  }
  return end_s;
}

}  // namespace syrinx
