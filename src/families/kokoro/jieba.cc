#include "families/kokoro/jieba.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>

#include "base/check.h"
#include "base/number.h"
#include "families/kokoro/pinyin.h"
#include "families/kokoro/tag_model.h"
#include "families/kokoro/written.h"
#include "io/file.h"
#include "text/utf8.h"

namespace syrinx::kokoro {
namespace {

enum Place : uint8_t { kBegin, kEnd, kMiddle, kSingle };

constexpr double kNever = -3.14e100;
constexpr size_t kMostBytes = 64 << 20, kMostWord = 1000;
// Logarithms of probabilities, from finalseg/prob_start.py and prob_trans.py.
constexpr std::array<double, 4> kPlaceStart{-0.26268660809250016, kNever, kNever,
                                            -1.4652633398537678};

struct PlaceStep {
  Place from;
  double log_p;
};
/// Returns the two places that may precede a place. If both are equally likely, jieba chooses the
/// later letter of B, E, M, S, which is the second one here.
std::array<PlaceStep, 2> steps_to(Place place) {
  switch (place) {
    case kBegin:
      return {{{kEnd, -0.5897149736854513}, {kSingle, -0.7211965654669841}}};
    case kEnd:
      return {{{kBegin, -0.510825623765990}, {kMiddle, -0.33344856811948514}}};
    case kMiddle:
      return {{{kBegin, -0.916290731874155}, {kMiddle, -1.2603623820268226}}};
    case kSingle:
      break;
  }
  return {{{kEnd, -0.8085250474669937}, {kSingle, -0.6658631448798212}}};
}

Error other_form(const std::string& what) {
  return {
      ErrorCode::kUnsupported,
      concat("jieba's ", what, " does not have the format of jieba 0.42 (Debian: python3-jieba)"),
      "input"};
}

}  // namespace

Result<std::unique_ptr<const Jieba>> Jieba::load(const std::string& folder) {
  std::unique_ptr<Jieba> out(new Jieba());
  std::string source;
  try {
    out->text_ = read_file(join_path(folder, "dict.txt"), kMostBytes);
    source = read_file(join_path(folder, "finalseg/prob_emit.py"), kMostBytes);
  } catch (const LoadError& error) {
    return Error{ErrorCode::kUnsupported,
                 concat("Chinese text needs jieba's dictionaries (Debian: apt-get install "
                        "python3-jieba; SYRINX_JIEBA names another folder): ",
                        error.what()),
                 "input"};
  }
  if (Status status = out->read_words(); !status.ok()) return status.error();
  if (Status status = out->read_places(source); !status.ok()) return status.error();
  return std::unique_ptr<const Jieba>(std::move(out));
}

Status Jieba::read_words() {
  for (size_t at = 0; at < text_.size();) {
    const size_t end = std::min(text_.find('\n', at), text_.size());
    const std::string_view line = std::string_view(text_).substr(at, end - at);
    const size_t space = line.find(' ');
    uint32_t count = 0;
    if (space == line.npos || space == 0 || space > kMostWord ||
        std::from_chars(line.data() + space + 1, line.data() + line.size(), count).ec !=
            std::errc()) {
      if (!line.empty()) return other_form("dict.txt");
    } else {
      entries_.push_back({static_cast<uint32_t>(at), static_cast<uint16_t>(space), count});
      total_ += count;
    }
    at = end + 1;
  }
  if (entries_.empty()) return other_form("dict.txt");
  std::stable_sort(entries_.begin(), entries_.end(),
                   [&](const Entry& a, const Entry& b) { return word_of(a) < word_of(b); });
  return ok_status();
}

/// Reads a Python dictionary of dictionaries. Uses only lines such as '\u4e00': -3.65, and the
/// names of places.
Status Jieba::read_places(std::string_view source) {
  const std::map<char, Place> names{{'B', kBegin}, {'E', kEnd}, {'M', kMiddle}, {'S', kSingle}};
  places_.assign(kLastHan - kFirstHan + 1, {kNever, kNever, kNever, kNever});
  Place place = kBegin;
  size_t count = 0;
  for (size_t at = source.find('\''); at != source.npos; at = source.find('\'', at)) {
    const size_t close = source.find('\'', at + 1);
    if (close == source.npos) break;
    const std::string_view key = source.substr(at + 1, close - at - 1);
    at = close + 1;
    if (key.size() == 1) {
      const auto found = names.find(key[0]);
      if (found == names.end()) return other_form("finalseg/prob_emit.py");
      place = found->second;
      continue;
    }
    char32_t c = 0;
    uint32_t code = 0;
    if (key.starts_with("\\u") &&
        std::from_chars(key.data() + 2, key.data() + key.size(), code, 16).ec == std::errc()) {
      c = code;
    }
    std::string_view number =
        source.substr(std::min(source.find_first_not_of(": ", at), source.size()));
    double log_p = 0;
    if (!take_number(number, log_p)) return other_form("finalseg/prob_emit.py");
    if (c < kFirstHan || c > kLastHan) continue;
    places_[c - kFirstHan][place] = log_p;
    ++count;
  }
  if (count == 0) return other_form("finalseg/prob_emit.py");
  return ok_status();
}

/// Returns how often a word occurs. Sets `goes_on` if a longer word begins with it.
uint32_t Jieba::count_of(std::string_view word, bool& goes_on) const {
  const auto before = [&](const Entry& entry, std::string_view other) {
    return word_of(entry) < other;
  };
  auto at = std::lower_bound(entries_.begin(), entries_.end(), word, before);
  uint32_t count = 0;
  for (; at != entries_.end() && word_of(*at) == word; ++at) count = at->count;
  goes_on = at != entries_.end() && word_of(*at).starts_with(word);
  return count;
}

/// Returns the third field of the word's line in dict.txt.
std::string Jieba::tag_of(std::u32string_view word) const {
  const std::string bytes = utf8_of(word);
  const auto after = [&](std::string_view other, const Entry& entry) {
    return other < word_of(entry);
  };
  auto at = std::upper_bound(entries_.begin(), entries_.end(), std::string_view(bytes), after);
  if (at == entries_.begin() || word_of(*--at) != bytes) return "x";
  std::string_view line = std::string_view(text_).substr(at->begin);
  line = line.substr(0, line.find('\n'));
  const std::string_view tag = line.substr(line.rfind(' ') + 1);
  return std::string(tag.substr(0, tag.find('\r')));
}

template <typename Listed, typename Loose>
void Jieba::walk(std::u32string_view run, Listed listed, Loose loose) const {
  // best[i]: the most probable words of run[i, n), and the end of the first of these words.
  struct Path {
    double log_p = 0;
    size_t end = 0;
  };
  const size_t n = run.size();
  std::vector<Path> best(n + 1);
  std::vector<std::string> bytes(n);
  for (size_t i = 0; i < n; ++i) utf8_append(bytes[i], run[i]);
  const double log_total = std::log(total_);
  for (size_t i = n; i-- > 0;) {
    Path& path = best[i];
    path = {-std::numeric_limits<double>::infinity(), i + 1};
    std::string word;
    bool goes_on = true;
    for (size_t end = i + 1; end <= n && goes_on; ++end) {
      word += bytes[end - 1];
      const uint32_t count = count_of(word, goes_on);
      if (count == 0) continue;
      const double log_p = std::log(count) - log_total + best[end].log_p;
      if (log_p >= path.log_p) path = {log_p, end};
    }
    if (std::isinf(path.log_p)) path = {-log_total + best[i + 1].log_p, i + 1};
  }
  size_t singles = 0;  // number of single characters since the last longer word
  for (size_t at = 0; at < n; at = best[at].end) {
    if (best[at].end == at + 1) {
      ++singles;
      continue;
    }
    if (singles > 0) loose(run.substr(at - singles, singles));
    singles = 0;
    listed(run.substr(at, best[at].end - at));
  }
  if (singles > 0) loose(run.substr(n - singles, singles));
}

std::vector<std::u32string> Jieba::cut(std::u32string_view run) const {
  std::vector<std::u32string> out;
  const auto loose = [&](std::u32string_view characters) {
    bool goes_on = false;
    if (characters.size() > 1 && count_of(utf8_of(characters), goes_on) == 0) {
      return cut_unknown(characters, out);
    }
    for (const char32_t c : characters) out.emplace_back(1, c);
  };
  walk(
      run, [&](std::u32string_view word) { out.emplace_back(word); }, loose);
  return out;
}

std::vector<TaggedWord> Jieba::cut(std::u32string_view run, const TagModel& unknown) const {
  std::vector<TaggedWord> out;
  const auto listed = [&](std::u32string_view word) {
    out.push_back({std::u32string(word), tag_of(word)});
  };
  const auto loose = [&](std::u32string_view characters) {
    bool goes_on = false;
    if (characters.size() > 1 && count_of(utf8_of(characters), goes_on) == 0) {
      return unknown.cut(characters, out);
    }
    for (size_t i = 0; i < characters.size(); ++i) listed(characters.substr(i, 1));
  };
  walk(run, listed, loose);
  return out;
}

size_t Jieba::shortest_part(std::u32string_view word, bool& begins) const {
  size_t shortest = word.size(), place = 0, at = 0;
  const auto take = [&](size_t begin, size_t size) {
    if (size < shortest) shortest = size, place = begin;
  };
  for (const std::u32string& part : cut(word)) {
    for (const size_t size : {size_t{2}, size_t{3}}) {
      bool goes_on = false;
      for (size_t i = 0; part.size() > size && i + size <= part.size(); ++i) {
        if (count_of(utf8_of(part.substr(i, size)), goes_on) > 0) take(at + i, size);
      }
    }
    take(at, part.size());
    at += part.size();
  }
  // Even if the part was found elsewhere in the word, the word may also start with it.
  begins = word.starts_with(word.substr(place, shortest));
  return shortest;
}

void Jieba::cut_unknown(std::u32string_view run, std::vector<std::u32string>& out) const {
  const auto emission = [&](size_t at, size_t place) {
    const char32_t c = run[at];
    return c < kFirstHan || c > kLastHan ? kNever : places_[c - kFirstHan][place];
  };
  std::array<double, 4> log_p{};
  for (size_t place = 0; place < 4; ++place) log_p[place] = kPlaceStart[place] + emission(0, place);
  std::vector<std::array<uint8_t, 4>> from(run.size());
  for (size_t at = 1; at < run.size(); ++at) {
    const std::array<double, 4> before = log_p;
    for (size_t place = 0; place < 4; ++place) {
      const double here = emission(at, place);
      log_p[place] = -std::numeric_limits<double>::infinity();
      for (const PlaceStep& step : steps_to(static_cast<Place>(place))) {
        const double sum = before[step.from] + step.log_p + here;
        if (sum >= log_p[place]) log_p[place] = sum, from[at][place] = step.from;
      }
    }
  }
  std::vector<uint8_t> path(run.size());
  path.back() = log_p[kSingle] >= log_p[kEnd] ? kSingle : kEnd;
  for (size_t at = run.size() - 1; at > 0; --at) path[at - 1] = from[at][path[at]];
  size_t begin = 0;
  for (size_t at = 0; at < run.size(); ++at) {
    if (path[at] != kEnd && path[at] != kSingle) continue;
    out.emplace_back(run.substr(begin, at + 1 - begin));
    begin = at + 1;
  }
}

std::string jieba_folder() {
  const char* given = std::getenv("SYRINX_JIEBA");
  return given != nullptr && *given ? given : "/usr/lib/python3/dist-packages/jieba";
}

}  // namespace syrinx::kokoro
