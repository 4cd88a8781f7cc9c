#include "families/finch/reading.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <vector>

#include "families/finch/fold.h"
#include "families/finch/numbers.h"

namespace syrinx::finch {
namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }
bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool upper(char c) { return c >= 'A' && c <= 'Z'; }

bool all(std::string_view text, bool (*test)(char)) {
  return !text.empty() && std::all_of(text.begin(), text.end(), test);
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = upper(c) ? static_cast<char>(c + 32) : c;
  return out;
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (size_t from = 0; from <= text.size();) {
    const size_t to = std::min(text.find(at, from), text.size());
    parts.push_back(text.substr(from, to - from));
    from = to + 1;
  }
  return parts;
}

/// Length of the number that `text` starts with: sign, digits with commas, decimals.
size_t number_length(std::string_view text) {
  size_t i = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  const size_t first = i;
  while (i < text.size() &&
         (digit(text[i]) || (text[i] == ',' && i + 1 < text.size() && digit(text[i + 1])))) {
    ++i;
  }
  if (i + 1 < text.size() && text[i] == '.' && digit(text[i + 1])) {
    ++i;
    while (i < text.size() && digit(text[i])) ++i;
  }
  return i > first ? i : 0;
}

struct Currency {
  char sign;
  std::string_view one, many, cent, cents;
};
constexpr std::array kCurrencies = std::to_array<Currency>({
    {'$', "dollar", "dollars", "cent", "cents"},
    {kEuro, "euro", "euros", "cent", "cents"},
    {kPound, "pound", "pounds", "penny", "pence"},
    {kYen, "yen", "yen", "sen", "sen"},
    {kRupee, "rupee", "rupees", "paisa", "paise"},
});

std::string_view magnitude(std::string_view text) {
  const std::string word = lower(text);
  if (word == "k" || word == "thousand") return "thousand";
  if (word == "m" || word == "mn" || word == "million") return "million";
  if (word == "b" || word == "bn" || word == "billion") return "billion";
  if (word == "t" || word == "tn" || word == "trillion") return "trillion";
  return {};
}

/// "37.50" dollars -> "37 dollars and 50 cents".
std::string amount(std::string_view number, const Currency& unit) {
  const size_t dot = number.find('.');
  const std::string_view whole = number.substr(0, dot);
  std::string text(whole);
  text += ' ';
  text += whole == "1" ? unit.one : unit.many;
  if (dot == std::string_view::npos) return text;
  std::string_view part = number.substr(dot + 1);
  if (part.find_first_not_of('0') == std::string_view::npos) return text;
  if (part.size() != 2) return std::string(number) + ' ' + std::string(unit.many);
  if (part[0] == '0') part.remove_prefix(1);
  const std::string cents =
      std::string(part) + ' ' + std::string(part == "1" ? unit.cent : unit.cents);
  return whole == "0" ? cents : text + " and " + cents;
}

std::optional<Reading> read_money(std::string_view core, const Neighbours& near) {
  std::string minus;
  if (core.size() > 1 && core[0] == '-') minus = "minus ", core.remove_prefix(1);
  for (const auto& unit : kCurrencies) {
    const bool leads = core.size() > 1 && core.front() == unit.sign;
    const bool trails = core.size() > 1 && core.back() == unit.sign;
    if (!leads && !trails) continue;
    std::string_view rest = leads ? core.substr(1) : core.substr(0, core.size() - 1);
    const size_t length = number_length(rest);
    if (length == 0 || rest[0] == '+' || rest[0] == '-') continue;
    const std::string_view number = rest.substr(0, length);
    rest.remove_prefix(length);
    const bool next_is_size = rest.empty() && near.after.size() > 1 &&
                              !magnitude(near.after).empty() && near.after != "bn";
    const std::string_view size = next_is_size ? magnitude(near.after) : magnitude(rest);
    if (!size.empty()) {
      return Reading{
          minus + std::string(number) + ' ' + std::string(size) + ' ' + std::string(unit.many),
          next_is_size};
    }
    if (rest.empty()) return Reading{minus + amount(number, unit)};
  }
  return std::nullopt;
}

struct Unit {
  std::string_view sign, one, many;
};
constexpr std::array kUnits = std::to_array<Unit>({
    {"km", "kilometer", "kilometers"},
    {"m", "meter", "meters"},
    {"cm", "centimeter", "centimeters"},
    {"mm", "millimeter", "millimeters"},
    {"um", "micrometer", "micrometers"},
    {"nm", "nanometer", "nanometers"},
    {"mi", "mile", "miles"},
    {"ft", "foot", "feet"},
    {"yd", "yard", "yards"},
    {"kg", "kilogram", "kilograms"},
    {"g", "gram", "grams"},
    {"mg", "milligram", "milligrams"},
    {"lb", "pound", "pounds"},
    {"lbs", "pound", "pounds"},
    {"oz", "ounce", "ounces"},
    {"ml", "milliliter", "milliliters"},
    {"mL", "milliliter", "milliliters"},
    {"l", "liter", "liters"},
    {"L", "liter", "liters"},
    {"ms", "millisecond", "milliseconds"},
    {"us", "microsecond", "microseconds"},
    {"ns", "nanosecond", "nanoseconds"},
    {"s", "second", "seconds"},
    {"sec", "second", "seconds"},
    {"min", "minute", "minutes"},
    {"h", "hour", "hours"},
    {"hr", "hour", "hours"},
    {"hrs", "hour", "hours"},
    {"mph", "mile per hour", "miles per hour"},
    {"km/h", "kilometer per hour", "kilometers per hour"},
    {"kmh", "kilometer per hour", "kilometers per hour"},
    {"m/s", "meter per second", "meters per second"},
    {"Hz", "hertz", "hertz"},
    {"kHz", "kilohertz", "kilohertz"},
    {"MHz", "megahertz", "megahertz"},
    {"GHz", "gigahertz", "gigahertz"},
    {"B", "byte", "bytes"},
    {"kB", "kilobyte", "kilobytes"},
    {"KB", "kilobyte", "kilobytes"},
    {"MB", "megabyte", "megabytes"},
    {"GB", "gigabyte", "gigabytes"},
    {"TB", "terabyte", "terabytes"},
    {"KiB", "kibibyte", "kibibytes"},
    {"MiB", "mebibyte", "mebibytes"},
    {"GiB", "gibibyte", "gibibytes"},
    {"kbps", "kilobit per second", "kilobits per second"},
    {"Mbps", "megabit per second", "megabits per second"},
    {"Gbps", "gigabit per second", "gigabits per second"},
    {"MB/s", "megabyte per second", "megabytes per second"},
    {"GB/s", "gigabyte per second", "gigabytes per second"},
    {"fps", "frame per second", "frames per second"},
    {"W", "watt", "watts"},
    {"kW", "kilowatt", "kilowatts"},
    {"MW", "megawatt", "megawatts"},
    {"kWh", "kilowatt hour", "kilowatt hours"},
    {"mAh", "milliamp hour", "milliamp hours"},
    {"V", "volt", "volts"},
    {"mV", "millivolt", "millivolts"},
    {"mA", "milliamp", "milliamps"},
    {"dB", "decibel", "decibels"},
    {"px", "pixel", "pixels"},
    {"ha", "hectare", "hectares"},
    {"\xB0", "degree", "degrees"},
    {"\xB0"
     "C",
     "degree Celsius", "degrees Celsius"},
    {"\xB0"
     "F",
     "degree Fahrenheit", "degrees Fahrenheit"},
    {"x", "times", "times"},
});

const Unit* find_unit(std::string_view sign) {
  const auto it =
      std::find_if(kUnits.begin(), kUnits.end(), [&](const Unit& u) { return u.sign == sign; });
  return it == kUnits.end() ? nullptr : &*it;
}

std::optional<Reading> read_quantity(std::string_view core, const Neighbours& near) {
  const size_t length = number_length(core);
  if (length > 0 && length < core.size()) {
    const std::string_view number = core.substr(0, length);
    if (core.substr(length) == "%") return Reading{std::string(number) + " percent"};
    if (const Unit* unit = find_unit(core.substr(length))) {
      return Reading{std::string(number) + ' ' +
                     std::string(number == "1" ? unit->one : unit->many)};
    }
  }
  // A unit after a space. One letter alone is a unit only where nothing else is likely.
  if (core != "x" && is_number(near.before)) {
    if (core == "%") return Reading{"percent"};
    if (const Unit* unit = find_unit(core)) {
      return Reading{std::string(near.before == "1" ? unit->one : unit->many)};
    }
  }
  return std::nullopt;
}

struct SignWord {
  char sign;
  std::string_view word;
};

template <size_t N>
std::string_view find_word(const std::array<SignWord, N>& table, char sign) {
  const auto it = std::find_if(table.begin(), table.end(),
                               [sign](const SignWord& entry) { return entry.sign == sign; });
  return it == table.end() ? std::string_view() : it->word;
}

constexpr std::array kAddressSigns = std::to_array<SignWord>({{'.', "dot"},
                                                              {'/', "slash"},
                                                              {'@', "at"},
                                                              {'-', "dash"},
                                                              {'_', "underscore"},
                                                              {'?', "question mark"},
                                                              {'=', "equals"},
                                                              {'&', "and"},
                                                              {'#', "hash"},
                                                              {':', "colon"},
                                                              {'%', "percent"},
                                                              {'+', "plus"},
                                                              {'~', "tilde"}});

/// Every part as it is, the signs between them as words.
std::string spell_signs(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const std::string_view word = find_word(kAddressSigns, text[i]);
    if (!word.empty()) {
      out += ' ' + std::string(word) + ' ';
      continue;
    }
    if (!letter(text[i]) && !digit(text[i])) continue;
    if (i > 0 && digit(text[i]) != digit(text[i - 1]) && letter(text[i]) != letter(text[i - 1])) {
      out += ' ';
    }
    out += text[i];
  }
  return out;
}

bool has_known_top_domain(std::string_view host) {
  static constexpr std::array<std::string_view, 26> kTop = {
      "com", "org", "net", "io", "dev", "edu", "gov", "uk", "de", "fr", "ai", "co", "info",
      "app", "eu",  "us",  "ca", "jp",  "ch",  "it",  "es", "nl", "se", "tv", "me", "int"};
  const size_t dot = host.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return false;
  return std::find(kTop.begin(), kTop.end(), lower(host.substr(dot + 1))) != kTop.end();
}

std::optional<Reading> read_address(std::string_view core) {
  const std::string small = lower(core);
  for (const std::string_view scheme : {"https://", "http://", "ftp://", "mailto:"}) {
    if (small.starts_with(scheme)) return Reading{spell_signs(core.substr(scheme.size()))};
  }
  const size_t at = core.find('@');
  if (at != std::string_view::npos && at > 0 && core.find('.', at) != std::string_view::npos) {
    return Reading{spell_signs(core)};
  }
  const std::string_view host = core.substr(0, core.find('/'));
  const bool plain = std::all_of(host.begin(), host.end(), [](char c) {
    return letter(c) || digit(c) || c == '.' || c == '-';
  });
  if (plain && host.size() > 3 && has_known_top_domain(host) && letter(host[0])) {
    return Reading{spell_signs(core)};
  }
  return std::nullopt;
}

std::optional<Reading> read_date(std::string_view core) {
  static constexpr std::array<std::string_view, 12> kMonths = {
      "January", "February", "March",     "April",   "May",      "June",
      "July",    "August",   "September", "October", "November", "December"};
  for (const char sign : {'-', '/'}) {
    const auto parts = split(core, sign);
    if (parts.size() != 3 || !all(parts[0], digit) || !all(parts[1], digit) ||
        !all(parts[2], digit) || core.size() > 10) {
      continue;
    }
    const bool iso = parts[0].size() == 4;
    if (!iso && (sign == '-' || parts[2].size() != 4)) continue;
    const int month = std::stoi(std::string(parts[iso ? 1 : 0]));
    const int day = std::stoi(std::string(parts[iso ? 2 : 1]));
    if (month < 1 || month > 12 || day < 1 || day > 31) continue;
    const bool teen = day >= 10 && day <= 20;
    const int last = teen ? 0 : day % 10;
    const std::string_view end = last == 1 ? "st" : last == 2 ? "nd" : last == 3 ? "rd" : "th";
    return Reading{std::string(kMonths[month - 1]) + ' ' + std::to_string(day) + std::string(end) +
                   ", " + std::string(parts[iso ? 0 : 2])};
  }
  return std::nullopt;
}

/// "10-20" and an en dash between numbers: "10 to 20"; but "555-1234" is a telephone number.
std::optional<Reading> read_range(std::string_view core) {
  for (const char sign : {'\x1E', '-'}) {
    const auto parts = split(core, sign);
    if (parts.size() != 2 || !is_number(parts[0]) || !is_number(parts[1])) continue;
    if (sign == '-' && parts[0].size() == 3 && parts[1].size() == 4) continue;
    return Reading{std::string(parts[0]) + " to " + std::string(parts[1])};
  }
  return std::nullopt;
}

std::optional<Reading> read_dotted(std::string_view core) {
  const auto parts = split(core, '.');
  if (parts.size() >= 3 ||
      (parts.size() == 2 && core.size() > 1 && (core[0] == 'v' || core[0] == 'V'))) {
    const bool numbers = std::all_of(parts.begin(), parts.end(), [](std::string_view p) {
      return all(p.starts_with('v') || p.starts_with('V') ? p.substr(1) : p, digit);
    });
    if (numbers) {
      std::string out;
      for (const auto part : parts) {
        const bool version = !part.empty() && letter(part[0]);
        out += std::string(out.empty() ? "" : " point ") + (version ? "version " : "") +
               std::string(version ? part.substr(1) : part);
      }
      return Reading{out};
    }
  }
  // A file name: letters after the only dot, no abbreviation like "e.g".
  if (parts.size() == 2 && parts[0].size() > 1 && parts[1].size() > 1 && parts[1].size() < 6 &&
      letter(parts[1][0]) && !is_number(core)) {
    return Reading{spell_signs(core)};
  }
  return std::nullopt;
}

bool is_spelled(std::string_view core) {
  static constexpr std::array<std::string_view, 26> kSpelled = {
      "AI",  "API", "APIs", "UI", "URL", "URLs", "IO", "EU", "UK",  "USA", "UAE",  "IP",   "ID",
      "IDs", "CEO", "CTO",  "EV", "AC",  "UV",   "IT", "OS", "IoT", "TTS", "GPUs", "CPUs", "LLMs"};
  return std::find(kSpelled.begin(), kSpelled.end(), core) != kSpelled.end();
}

std::string spell_letters(std::string_view core) {
  std::string out;
  for (const char c : core) {
    if (c == 's') {
      out += "'s";  // a plural: "APIs"
    } else {
      out += (out.empty() ? "" : ".");
      out += c;
    }
  }
  return out;
}

/// Signs that read the same wherever they stand.
constexpr std::array kPlainSigns = std::to_array<SignWord>({{'&', "and"},
                                                            {'@', "at"},
                                                            {'+', "plus"},
                                                            {'=', "equals"},
                                                            {'<', "less than"},
                                                            {'>', "greater than"},
                                                            {'%', "percent"},
                                                            {'\\', "backslash"},
                                                            {'$', "dollars"},
                                                            {kEuro, "euros"},
                                                            {kPound, "pounds"},
                                                            {kYen, "yen"},
                                                            {kRupee, "rupees"},
                                                            {'\xB0', "degrees"}});

/// The reading of a sign between two characters (' ' at the edges of the token).
std::string_view read_sign(char sign, char before, char after, bool alone) {
  const bool numbers = digit(before) && digit(after);
  switch (sign) {
    case '#':
      return digit(after) ? " number " : letter(after) ? " hashtag " : " hash ";
    case '^':
      return numbers || letter(before) ? " to the power of " : " ";
    case '*':
      return numbers || alone ? " times " : " ";
    case '~':
      return digit(after) ? "about " : " ";
    case '/':
      return numbers ? "/" : letter(before) && letter(after) ? " slash " : " ";
    case '\x1E':
      return numbers ? " to " : " ";
    case '-':
      if (letter(before) || letter(after) || numbers) return "-";
      return digit(after) ? " minus " : " ";
    default:
      return " ";
  }
}

/// What remains: signs inside a token become words, other marks become spaces.
std::string read_signs(std::string_view core) {
  std::string out;
  for (size_t i = 0; i < core.size(); ++i) {
    const char c = core[i];
    const bool plain_mark = c == '.' || c == ',' || c == ':' || c == '\'';
    if (letter(c) || digit(c) || plain_mark) {
      out += c;
      continue;
    }
    const std::string_view word = find_word(kPlainSigns, c);
    if (!word.empty()) {
      out += ' ' + std::string(word) + ' ';
    } else {
      out += read_sign(c, i > 0 ? core[i - 1] : ' ', i + 1 < core.size() ? core[i + 1] : ' ',
                       core.size() == 1);
    }
  }
  return out;
}

}  // namespace

bool is_number(std::string_view text) {
  return !text.empty() && number_length(text) == text.size();
}

bool is_abbreviation(std::string_view core) {
  static constexpr std::array<std::string_view, 36> kWords = {
      "mr",  "mrs", "ms",  "dr",     "prof", "st",  "jr",   "sr",  "vs",  "etc",  "no",  "vol",
      "fig", "inc", "ltd", "co",     "gen",  "col", "capt", "lt",  "sgt", "rev",  "hon", "pres",
      "gov", "sen", "rep", "approx", "dept", "est", "jan",  "feb", "aug", "sept", "oct", "nov"};
  if (core.size() == 1 && upper(core[0])) return true;
  if (core.find('.') != std::string_view::npos && core.size() <= 5 && letter(core[0])) return true;
  return std::find(kWords.begin(), kWords.end(), lower(core)) != kWords.end();
}

namespace {

Reading read_as_written(std::string_view core, const Neighbours& near) {
  if (auto money = read_money(core, near)) return *money;
  if (auto quantity = read_quantity(core, near)) return *quantity;
  if (auto address = read_address(core)) return *address;
  if (auto date = read_date(core)) return *date;
  if (auto range = read_range(core)) return *range;
  if (auto dotted = read_dotted(core)) return *dotted;
  if (is_spelled(core)) return {spell_letters(core)};
  if (is_number(core)) return {std::string(core)};
  return {read_signs(core)};
}

/// Numbers of a reading in words; a comma or dot after a number stays.
std::string with_number_words(std::string_view text) {
  std::string out;
  for (std::string_view word : split(text, ' ')) {
    std::string_view mark;
    if (word.size() > 1 && (word.back() == ',' || word.back() == '.')) {
      mark = word.substr(word.size() - 1);
      word.remove_suffix(1);
    }
    if (!out.empty()) out += ' ';
    out += is_number(word) ? number_words(word) : std::string(word);
    out += mark;
  }
  return out;
}

}  // namespace

Reading read_token(std::string_view core, const Neighbours& near) {
  Reading reading = read_as_written(core, near);
  reading.text = with_number_words(reading.text);
  return reading;
}

}  // namespace syrinx::finch
