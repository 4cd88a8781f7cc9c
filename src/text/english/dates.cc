// Reads dates and times of day.
#include <algorithm>
#include <array>
#include <optional>

#include "text/english/chars.h"
#include "text/english/numbers.h"
#include "text/english/rules.h"
#include "text/english/word_lists.h"

namespace syrinx::english {
namespace {

constexpr std::array<std::string_view, 12> kMonths = {
    "January", "February", "March",     "April",   "May",      "June",
    "July",    "August",   "September", "October", "November", "December"};
constexpr std::array<std::string_view, 7> kDays = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                                   "Friday", "Saturday", "Sunday"};

/// Returns 1 to 12 for a capitalised name or abbreviation of a month; 0 for other words.
int month_of(std::string_view core) {
  if (core == "Sept") return 9;
  for (int m = 0; m < 12; ++m) {
    if (core == kMonths[m] || core == kMonths[m].substr(0, 3)) return m + 1;
    if (core.size() == kMonths[m].size() && all(core, is_upper) && lower(core) == lower(kMonths[m]))
      return m + 1;
  }
  return 0;
}

std::string_view day_name(std::string_view core) {
  if (core == "Tues") return kDays[1];
  if (core == "Thurs" || core == "Thur") return kDays[3];
  for (const auto day : kDays) {
    if (core == day.substr(0, 3)) return day;
  }
  return {};
}

/// Returns the day for "21" or "21st"; 0 if the text is not a day.
int day_of(std::string_view core) {
  const size_t digits = std::min(core.find_first_not_of("0123456789"), core.size());
  if (digits == 0 || digits > 2) return 0;
  if (digits < core.size() && !listed(" st nd rd th ", lower(core.substr(digits)))) return 0;
  const auto day = static_cast<int>(value_of(core.substr(0, digits)));
  return day >= 1 && day <= 31 ? day : 0;
}

bool is_year(std::string_view core) {
  return is_digits(core, 4, 4) && core[0] >= '1' && core[0] <= '2';
}

std::string date_words(int month, int day, std::string_view year) {
  std::string out = lower(kMonths[month - 1]) + ' ' + ordinal_words(day);
  if (year.size() == 2) {
    const std::string full = (year[0] < '5' ? "20" : "19") + std::string(year);
    add(out, number_words(full));
  } else if (!year.empty()) {
    add(out, number_words(year));
  }
  return out;
}

/// Reads "2026-11-21", "11/21/2026", "21.11.2026"; "" for anything else.
std::string numeric_date(std::string_view core) {
  for (const char sign : {'-', '/', '.'}) {
    const auto parts = split(core, sign);
    if (parts.size() != 3 || !is_digits(parts[0], 1, 4) || !is_digits(parts[1], 1, 2) ||
        !is_digits(parts[2], 1, 4)) {
      continue;
    }
    const bool iso = parts[0].size() == 4 && sign != '.' && parts[2].size() <= 2;
    const bool short_year = sign == '/' && parts[2].size() == 2 && parts[0].size() <= 2;
    if (!iso && parts[2].size() != 4 && !short_year) continue;
    if (!iso && parts[0].size() > 2) continue;
    auto month = static_cast<int>(value_of(parts[iso ? 1 : 0]));
    auto day = static_cast<int>(value_of(parts[iso ? 2 : 1]));
    if ((!iso && month > 12) || sign == '.') std::swap(month, day);
    if (month < 1 || month > 12 || day < 1 || day > 31) continue;
    return date_words(month, day, parts[iso ? 0 : 2]);
  }
  return {};
}

/// Reads "21/11" or "12/25" as a date, only where a fraction is unlikely.
std::string short_date(const Tokens& tokens, size_t i) {
  const std::string_view core = tokens.core(i);
  const std::string before = lower(tokens.before(i)), day = i > 0 ? tokens[i - 1].core : "";
  const auto parts = split(core, '/');
  if (parts.size() != 2 || !is_digits(parts[0], 1, 2) || !is_digits(parts[1], 1, 2)) return {};
  auto first = static_cast<int>(value_of(parts[0])), second = static_cast<int>(value_of(parts[1]));
  const bool swapped = first > 12;
  if (swapped) std::swap(first, second);
  if (first < 1 || first > 12 || second < 1 || second > 31) return {};
  const bool dated = listed(" on by until since before after from due dated ", before) ||
                     !calendar_name(day).empty() || std::ranges::find(kDays, day) != kDays.end() ||
                     (before == "of" && i > 1 &&
                      listed(" week weekend morning evening night email mail letter message ",
                             lower(tokens.core(i - 2))));
  const bool fraction = value_of(parts[0]) < value_of(parts[1]) &&
                        listed(" 2 3 4 5 6 7 8 9 10 12 16 20 24 30 ", parts[1]);
  const bool odd = first == second || (!swapped && second <= 12 && !fraction);
  if (core == "9/11" || core == "24/7" || (!dated && (fraction || odd))) return {};
  return date_words(first, second, {});
}

/// Returns the year after token i, with or without a comma between them; "" if there is none.
std::string_view year_after(const Tokens& tokens, size_t i) {
  const bool near = i + 1 < tokens.size() && !tokens[i].closes && !tokens[i + 1].opens &&
                    (tokens[i].close == 0 || tokens[i].close == ',' || tokens[i].close == '.');
  return near && is_year(tokens.core(i + 1)) ? tokens.core(i + 1) : std::string_view();
}

/// Reads a clock time such as "5:30", without "am" or "pm". `half`: "am" or "pm" follows it.
std::string clock_words(std::string_view clock, bool half) {
  if (half && is_digits(clock, 1, 2) && value_of(clock) <= 12) return cardinal_words(clock);
  const bool dotted = half && clock.find(':') == clock.npos;  // "9.30am"
  const auto parts = split(clock, dotted ? '.' : ':');
  if (parts.size() < 2 || parts.size() > 3 || !is_digits(parts[0], 1, 2)) return {};
  for (size_t p = 1; p < parts.size(); ++p) {
    if (!is_digits(parts[p], 2, 2) || parts[p][0] > '5') return {};
  }
  const int64_t hour = value_of(parts[0]);
  if (hour > 24) return {};
  std::string out = cardinal_words(std::to_string(hour));
  const bool even = parts[1] == "00" && parts.back() == "00";
  if (even && half) return out;
  if (even) return out + (hour >= 1 && hour <= 12 ? " o'clock" : " hundred");
  for (size_t p = 1; p < parts.size(); ++p) {
    const std::string_view part = parts[p];
    if (part[0] == '0') add(out, "oh");
    add(out, part == "00" ? "oh" : cardinal_words(part[0] == '0' ? part.substr(1) : part));
  }
  return out;
}

/// Reads "+02:00", "+0200" and "+2" as "plus two"; "" for anything else.
std::string offset_words(std::string_view text) {
  if (text.empty() || (text[0] != '+' && text[0] != '-')) return {};
  const std::string sign = text[0] == '+' ? "plus " : "minus ";
  std::string digits(text.substr(1));
  const bool colon = digits.size() > 3 && digits[digits.size() - 3] == ':';
  if (colon) digits.erase(digits.size() - 3, 1);
  if (!is_digits(digits, 1, 4) || digits.size() == 3 - (colon ? 1 : 0)) return {};
  const size_t hours = digits.size() > 2 ? digits.size() - 2 : digits.size();
  const int64_t hour = value_of(digits.substr(0, hours));
  if (hour > 14) return {};
  std::string out = sign + cardinal_words(std::to_string(hour));
  if (digits.size() > 2 && !digits.ends_with("00")) add(out, cardinal_words(digits.substr(hours)));
  return out;
}

/// Reads the time of a race: "3:59.4", "1:02:03.45"; "" for anything else.
std::string lap_words(std::string_view text) {
  const size_t point = text.find('.');
  if (point == text.npos || !is_digits(text.substr(point + 1), 1, 3)) return {};
  std::string out = clock_words(text.substr(0, point), false);
  const bool even = out.ends_with(" o'clock") || out.ends_with(" hundred");
  if (out.empty() || even) return {};
  return out + " point " + digit_words(text.substr(point + 1));
}

/// Reads the time of a log: "14:05:00+02:00", "17:05:21.5Z"; omits zero seconds. `dated`: a date
/// precedes the time, so a minus begins an offset.
std::string stamp_words(std::string_view text, bool dated) {
  const size_t end =
      std::min(text.find_first_not_of(dated ? "0123456789:.," : "0123456789:."), text.size());
  const std::string_view clock = text.substr(0, end), zone = text.substr(end);
  const size_t point = clock.find_first_of(".,");
  const auto parts = split(clock.substr(0, point), ':');
  if (parts.size() < 2 || (point != clock.npos && parts.size() != 3)) return {};
  const std::string offset = zone == "Z" ? std::string() : offset_words(zone);
  if (!zone.empty() && zone != "Z" && offset.empty()) return {};
  if (!dated && (zone.empty() || (zone[0] == '-' && parts.size() < 3))) return {};
  const bool even = parts.size() == 3 && parts[2] == "00";
  std::string out = clock_words(clock.substr(0, even ? clock.rfind(':') : point), false);
  if (!out.empty()) add(out, zone == "Z" && !dated ? "Z" : offset);
  return out;
}

/// Reads "UTC+2", "GMT-05:30".
std::string zone_words(std::string_view core) {
  if (!core.starts_with("UTC") && !core.starts_with("GMT")) return {};
  const std::string offset = offset_words(core.substr(3));
  return offset.empty() ? offset : (core[0] == 'U' ? "U T C " : "G M T ") + offset;
}

/// A time of day written without spaces: "9", "17:05", "5:30p.m.", "noon".
struct Time {
  std::string_view clock, half;  ///< `half` is "A M", "P M" or ""
  std::string_view word = {};    ///< "noon" or "midnight", or "" for a clock time

  /// Returns whether the time itself says in which half of the day it is.
  bool is_halved() const { return !half.empty() || !word.empty(); }
  /// Returns the words of the time. `halved`: this time or the adjacent time has "am" or "pm".
  std::string words(bool halved) const {
    if (!word.empty()) return std::string(word);
    std::string out = clock_words(clock, halved);
    if (!out.empty()) add(out, half);
    return out;
  }
};

std::optional<Time> time_of(std::string_view text) {
  if (const std::string_view word = time_word(text); !word.empty()) return Time{{}, {}, word};
  const size_t letters = std::min(text.find_first_not_of("0123456789:."), text.size());
  std::string_view half = text.substr(letters);
  const bool clock = text.substr(0, letters).find(':') != text.npos;  // "5:30p"
  if (clock && half == "p") half = "pm";
  if (clock && half == "a") half = "am";
  const Time time{text.substr(0, letters), half_day(half)};
  if (letters == 0 || (letters < text.size() && time.half.empty())) return {};
  return time;
}

/// Reads "18h30" as a time of day, and "1h30" as a duration, unless it is `timed` by a word like
/// "at"; "" for anything else.
std::string french_clock_words(std::string_view text, bool timed) {
  const auto parts = split(text, 'h');
  if (parts.size() != 2 || !is_digits(parts[0], 1, 2) || !is_digits(parts[1], 2, 2)) return {};
  const std::string clock = std::string(parts[0]) + ':' + std::string(parts[1]);
  const int64_t hours = value_of(parts[0]);
  if (timed || hours > 12) return clock_words(clock, false);
  const std::string minutes =
      parts[1][0] > '5' ? "" : cardinal_words(std::to_string(value_of(parts[1])));
  if (minutes.empty() || hours == 0) return {};
  return cardinal_words(parts[0]) + (hours == 1 ? " hour " : " hours ") + minutes;
}

/// Reads a range of times: "9am-5pm", "7:30-9p.m.", "10-11:30"; "" for anything else.
std::string hours_words(std::string_view text) {
  const size_t dash = text.find_first_of("-\x1E");
  if (dash == text.npos) return {};
  const auto from = time_of(text.substr(0, dash)), to = time_of(text.substr(dash + 1));
  if (!from || !to) return {};
  const bool halved = from->is_halved() || to->is_halved();
  if (!halved && is_digits(to->clock)) return {};
  const bool hour = !halved && is_digits(from->clock, 1, 2);
  const std::string first = hour ? cardinal_words(from->clock) : from->words(halved);
  const std::string last = to->words(halved);
  return first.empty() || last.empty() ? std::string() : first + " to " + last;
}

/// Reads "0800" as "oh eight hundred", "1430" as "fourteen thirty"; "" for anything else.
std::string watch_words(std::string_view time) {
  if (!is_digits(time, 4, 4) || time.substr(0, 2) > "24" || time[2] > '5') return {};
  std::string out = time[0] == '0' ? "oh" : "";
  add(out, cardinal_words(time[0] == '0' ? time.substr(1, 1) : time.substr(0, 2)));
  if (time.ends_with("00")) return out + " hundred";
  add(out, time[2] == '0' ? "oh " + digit_words(time.substr(3)) : cardinal_words(time.substr(2)));
  return out;
}

Reading read_named_date(const Tokens& tokens, size_t i) {
  const std::string_view core = tokens.core(i);
  const int month = month_of(core);
  const bool dotted = i < tokens.size() && tokens[i].close == '.';
  if (month != 0 && i + 1 < tokens.size() && (tokens[i].close == 0 || dotted) &&
      !tokens[i].closes && !tokens[i + 1].opens) {  // "Nov. 21, 2026"
    const std::string_view next = tokens.core(i + 1);
    const auto days = split(next, next.find(kEnDash) != next.npos ? kEnDash : '-');
    if (days.size() == 2 && day_of(days[0]) != 0 && day_of(days[1]) != 0) {
      std::string words =
          date_words(month, day_of(days[0]), {}) + " to " + ordinal_words(day_of(days[1]));
      const std::string_view year = year_after(tokens, i + 1);
      if (!year.empty()) add(words, number_words(year));
      return Spoken{words, year.empty() ? size_t{2} : 3};
    }
    // "Oct. 3–Nov. 7"
    if (days.size() == 2 && day_of(days[0]) != 0 && month_of(days[1]) != 0 &&
        day_of(tokens.core(i + 2)) != 0) {
      return Spoken{date_words(month, day_of(days[0]), {}) + " to " +
                        date_words(month_of(days[1]), day_of(tokens.core(i + 2)), {}),
                    3};
    }
    // "Mar 1 - Apr 15"
    if (day_of(next) != 0 && tokens[i + 1].closes && tokens[i + 1].close == 0 &&
        month_of(tokens.core(i + 2)) != 0 && day_of(tokens.core(i + 3)) != 0) {
      return Spoken{date_words(month, day_of(next), {}) + " to " +
                        date_words(month_of(tokens.core(i + 2)), day_of(tokens.core(i + 3)), {}),
                    4};
    }
    const std::string_view year = year_after(tokens, i + 1);
    if (day_of(next) != 0) {
      return Spoken{date_words(month, day_of(next), year), year.empty() ? size_t{2} : 3};
    }
    if (is_year(next)) return Spoken{lower(kMonths[month - 1]) + ' ' + number_words(next), 2};
  }
  const auto range = split(core, core.find(kEnDash) != core.npos ? kEnDash : '-');
  if (range.size() == 2 && is_digits(range[0], 1, 2) && is_digits(range[1], 1, 2) &&
      day_of(range[0]) != 0 && day_of(range[1]) != 0 && month_of(tokens.after(i)) != 0) {
    std::string words = lower(tokens.before(i)) == "the" ? "" : "the ";
    words += ordinal_words(day_of(range[0])) + " to " + ordinal_words(day_of(range[1])) + " of " +
             lower(kMonths[month_of(tokens.after(i)) - 1]);
    const std::string_view year = year_after(tokens, i + 1);
    if (!year.empty()) add(words, number_words(year));
    return Spoken{words, year.empty() ? size_t{2} : 3};
  }
  if (!is_digits(core, 1, 2) || day_of(core) == 0 || month_of(tokens.after(i)) == 0) return {};
  if (tokens[i + 1].closes && tokens[i + 1].close == 0 && day_of(tokens.core(i + 2)) != 0 &&
      month_of(tokens.core(i + 3)) != 0) {  // "1 Jan - 31 Dec 2023"
    const auto last = read_named_date(tokens, i + 2);
    const std::string first =
        ordinal_words(day_of(core)) + " of " + lower(kMonths[month_of(tokens.core(i + 1)) - 1]);
    if (last) return Spoken{"the " + first + " to " + last->words, 2 + last->used};
  }
  const std::string before = lower(tokens.before(i));  // "21 Nov 2026"
  std::string words = before == "the" ? "" : "the ";
  words += ordinal_words(day_of(core)) + " of " + lower(kMonths[month_of(tokens.after(i)) - 1]);
  const std::string_view year = year_after(tokens, i + 1);
  if (!year.empty()) add(words, number_words(year));
  return Spoken{words, year.empty() ? size_t{2} : 3};
}

}  // namespace

std::string_view calendar_name(std::string_view core) {
  const int month = month_of(core);
  return month != 0 ? kMonths[month - 1] : day_name(core);
}

Reading read_date(const Tokens& tokens, size_t i) {
  const std::string_view core = tokens.core(i);
  if (std::string words = numeric_date(core); !words.empty()) {
    const bool iso = core.size() > 7 && !is_digit(core[4]);  // "2024-03-07 14:05:00+02:00"
    const std::string clock = iso ? stamp_words(tokens.after(i), true) : std::string();
    if (clock.empty()) return Spoken{words};
    const std::string offset = offset_words(tokens.after(i + 1));
    return Spoken{words + " at " + clock + (offset.empty() ? "" : ' ' + offset),
                  offset.empty() ? size_t{2} : 3};
  }
  if (std::string words = short_date(tokens, i); !words.empty()) return Spoken{words};
  if (core.size() > 15 && core[10] == 'T') {  // "2026-11-21T17:05:00Z"
    const std::string date = numeric_date(core.substr(0, 10));
    const std::string time = stamp_words(core.substr(11), true);
    if (!date.empty() && !time.empty()) return Spoken{date + " at " + time};
  }
  if (auto date = read_named_date(tokens, i)) return date;
  // "Mon, Jan 5"; "Sat. 9 May"
  const std::string_view day = day_name(core);
  const bool dated = i + 1 < tokens.size() &&
                     (month_of(tokens.core(i + 1)) != 0 || day_of(tokens.core(i + 1)) != 0);
  if (!day.empty() && dated) return Spoken{lower(day)};
  return {};
}

std::string_view half_day(std::string_view core) {
  std::string plain = lower(core);
  std::erase(plain, '.');
  return plain == "am" ? "A M" : plain == "pm" ? "P M" : std::string_view();
}

std::string_view time_word(std::string_view core) {
  const std::string word = lower(core);
  return word == "noon" ? "noon" : word == "midnight" ? "midnight" : std::string_view();
}

Reading read_watch(const Tokens& tokens, size_t i) {
  std::string_view core = tokens.core(i);
  const size_t used = core.size() == 5 && core.back() == 'h' ? 1 : 2;  // "1800h", "1800 hours"
  if (used == 1) core.remove_suffix(1);
  if (used == 2 && !listed(" h hr hrs hours ", tokens.after(i))) return {};
  const size_t dash = std::min(core.find_first_of(kDashes), core.size());
  std::string words = watch_words(core.substr(0, dash));
  if (words.empty()) return {};
  if (dash < core.size()) {
    const std::string last = watch_words(core.substr(dash + 1));
    if (last.empty() || (core[0] != '0' && core[dash + 1] != '0')) return {};
    return Spoken{words + " to " + last + " hours", 2};
  }
  // A number that does not begin with 0 may be an amount of hours.
  const bool certain = core[0] == '0' || (core.ends_with("00") && core[1] != '0');
  return certain ? Reading(Spoken{words + " hours", used}) : Reading();
}

Reading read_hours(const Tokens& tokens, size_t i) {
  const std::string_view core = tokens.core(i);
  if (!is_digit(core[0]) && time_word(core.substr(0, core.find_first_of("-\x1E"))).empty())
    return {};
  Reading longest;
  std::string text;
  for (size_t used = 1; used <= 5 && i + used <= tokens.size(); ++used) {
    const Token& token = tokens[i + used - 1];
    if (!text.empty() && is_digit(text.back()) && is_digit(token.core[0])) break;
    text += token.core;
    if (std::string words = hours_words(text); !words.empty()) longest = Spoken{words, used};
    const bool stop = token.close == '.' && (token.core.back() == 'm' || token.core.back() == 'M');
    if (!tokens.joined(i + used - 1) && !(stop && !token.closes)) break;
  }
  return longest;
}

Reading read_calendar(const Tokens& tokens, size_t i) {
  std::string_view core = tokens.core(i);
  if (core.size() < 3 || !is_upper(core[0])) return {};
  const auto parts = split(core, '/');  // "Sat/Sun"
  if (parts.size() > 1) {
    std::string words;
    for (const auto part : parts) {
      if (day_name(part).empty()) return {};
      add(words, lower(day_name(part)));
    }
    return Spoken{words};
  }
  const std::string_view name = calendar_name(core);
  if (name.empty() || name.size() == core.size()) return {};
  const auto said = [](std::string_view word) { return Spoken{lower(word)}; };
  const bool there = i + 1 < tokens.size();
  const std::string_view next = tokens.core(i + 1);
  const bool near = there && (tokens[i].close == 0 || tokens[i].close == '.');
  const auto is_named = [](std::string_view word) { return !calendar_name(word).empty(); };
  if (near && tokens[i].closes && is_named(next)) {  // "Mon - Fri"
    return Spoken{lower(name) + " to " + lower(calendar_name(next)), 2};
  }
  constexpr std::string_view kBetween = " to and or through thru until till & ";
  const bool before_named = near && listed(kBetween, lower(next)) && is_named(tokens.core(i + 2));
  const bool after_named =
      i > 1 && listed(kBetween, lower(tokens.core(i - 1))) && is_named(tokens.core(i - 2));
  const std::string before = i > 0 ? lower(tokens.core(i - 1)) : "";
  const bool cued = listed(word_lists().day_cues, before);
  const bool timed = near && !next.empty() && is_digit(next[0]);
  const bool listed_with =  // "Mon, Wed, Fri"
      (there && tokens[i].close == ',' && is_named(next)) ||
      (i > 0 && tokens[i - 1].close == ',' && is_named(tokens.core(i - 1)));
  if (before_named || after_named || cued || timed || listed_with) return said(name);
  return {};
}

Reading read_time(const Tokens& tokens, size_t i) {
  const std::string_view core = tokens.core(i);
  if (std::string words = zone_words(core); !words.empty()) return Spoken{words};
  if (std::string words = stamp_words(core, false); !words.empty()) return Spoken{words};
  if (std::string words = lap_words(core); !words.empty()) return Spoken{words};
  if (core.ends_with("-ish")) {  // "6:00-ish"
    const std::string words = clock_words(core.substr(0, core.size() - 4), true);
    if (!words.empty()) return Spoken{words + " ish"};
  }
  if (listed(" h hrs hr ", tokens.after(i)) && core.find(':') != core.npos) {  // "06:05 hrs"
    const std::string words = clock_words(core, true);
    if (!words.empty()) return Spoken{words + " hours", 2};
  }
  const std::string before = lower(tokens.before(i));
  const bool timed = listed(" at from to until till by before after since around about ", before);
  if (std::string words = french_clock_words(core, timed); !words.empty()) return Spoken{words};
  const std::string_view half = half_day(tokens.after(i));
  if (!half.empty()) {
    if (std::string words = clock_words(core, true); !words.empty()) {
      return Spoken{words + ' ' + std::string(half), 2};
    }
  }
  const auto time = time_of(core);
  if (time && !(time->half.empty() && is_digits(time->clock))) {
    if (std::string words = time->words(!time->half.empty()); !words.empty()) return Spoken{words};
  }
  // A ratio: "3:1", "16:9".
  const auto parts = split(core, ':');
  if (parts.size() == 2 && is_digits(parts[0], 4, 5) && is_year(parts[1])) {
    return Spoken{cardinal_words(parts[0]) + ' ' + number_words(parts[1])};  // "ISO 9001:2015"
  }
  if (parts.size() == 2 && is_digits(parts[0], 2, 2) && is_digits(parts[1], 2, 2) &&
      parts[0] < "60" && parts[1] < "60" &&
      (listed(" in time ", before) || (before == "of" && tokens.core(i - 2) == "time"))) {
    const std::string seconds =
        parts[1][0] == '0' ? "oh " + digit_words(parts[1].substr(1)) : cardinal_words(parts[1]);
    return Spoken{cardinal_words(parts[0]) + ' ' + seconds};  // "a race in 42:15"
  }
  if (parts.size() == 2 && is_digits(parts[0], 1, 4) && is_digits(parts[1], 1, 4)) {
    return Spoken{cardinal_words(parts[0]) + " to " + cardinal_words(parts[1])};
  }
  return {};
}

}  // namespace syrinx::english
