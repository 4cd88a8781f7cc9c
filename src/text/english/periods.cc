// Reads decades and durations.
#include <algorithm>
#include <array>
#include <vector>

#include "text/english/chars.h"
#include "text/english/numbers.h"
#include "text/english/rules.h"
#include "text/english/word_lists.h"

namespace syrinx::english {
namespace {

/// Returns whether the token is a number with an s: "80s", "1,000s".
bool is_plural_number(std::string_view core) {
  return core.size() > 1 && core.back() == 's' && is_digit(core[0]) &&
         is_number(core.substr(0, core.size() - 1));
}

/// Returns 80 for "80s", "'80s" and "80's", 1990 for "1990s"; 0 for anything else.
int64_t decade_of(std::string_view core) {
  if (core.starts_with('\'')) core.remove_prefix(1);
  if (!core.ends_with('s')) return 0;
  core.remove_suffix(core.ends_with("'s") ? 2 : 1);
  const bool years = is_digits(core, 2, 2) || is_digits(core, 4, 4);
  return years && core.back() == '0' ? value_of(core) : 0;
}

/// Reads two decades in one token: "1950s-60s", "1990s/2000s"; "" for anything else.
std::string two_decades(std::string_view core, std::string_view before, std::string_view next) {
  const size_t at = core.find_first_of("-/\x1E", 1);
  if (at == core.npos) return {};
  const int64_t first = decade_of(core.substr(0, at)), second = decade_of(core.substr(at + 1));
  const bool year = first > 99 || second > 99 || core[0] == '\'' ||
                    listed(word_lists().decade_nouns, next) ||
                    listed(" the early mid late ", lower(before));
  if (first < 20 || second < 20 || !year) return {};
  return decade_words(first) + (core[at] == '/' ? " " : " to ") + decade_words(second);
}

/// Returns the words of each part of "1h30m"; empty for other texts. `last`: the index in kTimes of
/// the previous part, whose unit must be longer than the next unit.
std::vector<std::string> duration_words(std::string_view core, size_t& last) {
  constexpr std::string_view kTimes = " wdhms";
  constexpr std::array<std::string_view, 6> kNames = {"",     "week",   "day",
                                                      "hour", "minute", "second"};
  std::vector<std::string> out;
  for (size_t at = 0; at < core.size();) {
    const size_t end = std::min(core.find_first_not_of("0123456789", at), core.size());
    const size_t time = end < core.size() ? kTimes.find(core[end]) : kTimes.npos;
    if (!is_digits(core.substr(at, end - at), 1, 4) || time == kTimes.npos || time <= last)
      return {};
    const std::string_view number = core.substr(at, end - at);
    const int64_t count = value_of(number);
    out.push_back(cardinal_words(std::to_string(count)) + ' ' + std::string(kNames[time]) +
                  (count == 1 ? "" : "s"));
    last = time;
    at = end + 1;
  }
  return out;
}

}  // namespace

Reading read_two_decades(const Tokens& tokens, size_t i) {
  const std::string_view core = tokens.core(i), sign = tokens.after(i);
  const std::string one = two_decades(core, tokens.before(i), sign);
  if (!one.empty()) return Spoken{one};
  if (sign != "-" && sign != std::string_view(&kEnDash, 1)) return {};
  const std::string apart =  // "the 1950s - 60s"
      two_decades(std::string(core) + '-' + std::string(tokens.after(i + 1)), {}, {});
  return apart.empty() ? Reading() : Reading(Spoken{apart, 3});
}

Reading read_decade(const Tokens& tokens, size_t i) {
  const std::string_view core = tokens.core(i), next = tokens.after(i);
  if ((next == "of" || core == "1000s") && is_plural_number(core)) {  // "100s of people"
    std::string digits(core.substr(0, core.size() - 1));
    std::erase(digits, ',');
    const std::string words = cardinal_words(digits);
    const bool one = words.starts_with("one ") && words.find(' ', 4) == words.npos;
    if (one) return Spoken{words.substr(4) + 's'};
  }
  const size_t slash = core.find('/');
  if (slash != core.npos && all(core.substr(slash + 1), is_lower)) {  // "late 1970s/early 1980s"
    const int64_t first = decade_of(core.substr(0, slash));
    if (first > 99) return Spoken{decade_words(first) + ' ' + std::string(core.substr(slash + 1))};
  }
  const int64_t decade = decade_of(core);
  if (decade < 20) return {};
  const std::string before = lower(tokens.before(i));
  const auto beside = [&](size_t word, size_t other) {
    return listed(" and or to through & ", lower(tokens.core(word))) &&
           decade_of(tokens.core(other)) > 0;
  };
  const bool certain = core[0] == '\'' || core.ends_with("'s") || decade > 99;
  const bool cued =
      listed(" the her his their its my our early mid late low high upper lower ", before) ||
      listed(word_lists().decade_nouns, lower(next)) || (before == "an" && all(next, is_lower)) ||
      (tokens.joined(i) && beside(i + 1, i + 2)) || (i > 1 && beside(i - 1, i - 2));
  return certain || cued ? Reading(Spoken{decade_words(decade)}) : Reading();
}

Reading read_fiscal_year(const Tokens& tokens, size_t i) {
  std::string_view core = tokens.core(i);
  if (!core.starts_with("FY")) return {};
  const size_t used = core.size() == 2 ? 2 : 1;
  core = used == 2 ? tokens.after(i) : core.substr(2);
  std::string words = "fiscal year";
  const auto years = split(core, core.find('/') != core.npos ? '/' : '-');
  for (std::string_view year : years) {
    if (year.starts_with('\'')) year.remove_prefix(1);
    const bool first = year.data() == core.data() || year.data() == core.data() + 1;
    if (years.size() > 2 || !(is_digits(year, 2, 2) || (first && is_digits(year, 4, 4)))) return {};
    add(words, number_words(year));
  }
  return Spoken{words, used};
}

Reading read_duration(const Tokens& tokens, size_t i) {
  std::string words;
  size_t used = 0, parts = 0, last = 0;
  while (used == 0 || tokens.joined(i + used - 1)) {
    const auto part = duration_words(tokens.core(i + used), last);
    if (part.empty()) break;
    parts += part.size();
    for (const std::string& one : part) add(words, one);
    ++used;
  }
  const bool ago = used == 1 && listed(" ago later ", tokens.after(i));
  return parts > 1 || ago ? Reading(Spoken{words, used}) : Reading();
}

}  // namespace syrinx::english
