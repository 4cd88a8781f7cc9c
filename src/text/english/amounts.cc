#include "text/english/amounts.h"

#include <algorithm>
#include <array>

#include "text/english/chars.h"
#include "text/english/numbers.h"

namespace syrinx::english {
namespace {

struct Unit {
  std::string_view sign, one, many;
};
constexpr std::array kUnits = std::to_array<Unit>({
    {"ppm", "part per million", "parts per million"},
    {"ppb", "part per billion", "parts per billion"},
    {"km", "kilometer", "kilometers"},
    {"m", "meter", "meters"},
    {"cm", "centimeter", "centimeters"},
    {"mm", "millimeter", "millimeters"},
    {"um", "micrometer", "micrometers"},
    {"nm", "nanometer", "nanometers"},
    {"mi", "mile", "miles"},
    {"ft", "foot", "feet"},
    {"in", "inch", "inches"},
    {"yd", "yard", "yards"},
    {"yds", "yard", "yards"},
    {"kg", "kilogram", "kilograms"},
    {"g", "gram", "grams"},
    {"mg", "milligram", "milligrams"},
    {"ug", "microgram", "micrograms"},
    {"lb", "pound", "pounds"},
    {"lbs", "pound", "pounds"},
    {"oz", "ounce", "ounces"},
    {"gal", "gallon", "gallons"},
    {"tbsp", "tablespoon", "tablespoons"},
    {"Tbsp", "tablespoon", "tablespoons"},
    {"TBSP", "tablespoon", "tablespoons"},
    {"tsp", "teaspoon", "teaspoons"},
    {"TSP", "teaspoon", "teaspoons"},
    {"qt", "quart", "quarts"},
    {"qts", "quart", "quarts"},
    {"pt", "pint", "pints"},
    {"pkg", "package", "packages"},
    {"pkgs", "package", "packages"},
    {"ml", "milliliter", "milliliters"},
    {"mL", "milliliter", "milliliters"},
    {"dL", "deciliter", "deciliters"},
    {"dl", "deciliter", "deciliters"},
    {"cl", "centiliter", "centiliters"},
    {"l", "liter", "liters"},
    {"L", "liter", "liters"},
    {"ms", "millisecond", "milliseconds"},
    {"us", "microsecond", "microseconds"},
    {"ns", "nanosecond", "nanoseconds"},
    {"s", "second", "seconds"},
    {"sec", "second", "seconds"},
    {"secs", "second", "seconds"},
    {"min", "minute", "minutes"},
    {"mins", "minute", "minutes"},
    {"h", "hour", "hours"},
    {"hr", "hour", "hours"},
    {"hrs", "hour", "hours"},
    {"wk", "week", "weeks"},
    {"wks", "week", "weeks"},
    {"mo", "month", "months"},
    {"yr", "year", "years"},
    {"yrs", "year", "years"},
    {"mph", "mile per hour", "miles per hour"},
    {"kph", "kilometer per hour", "kilometers per hour"},
    {"kmh", "kilometer per hour", "kilometers per hour"},
    {"mpg", "mile per gallon", "miles per gallon"},
    {"rpm", "revolution per minute", "revolutions per minute"},
    {"bpm", "beat per minute", "beats per minute"},
    {"Hz", "hertz", "hertz"},
    {"kHz", "kilohertz", "kilohertz"},
    {"MHz", "megahertz", "megahertz"},
    {"GHz", "gigahertz", "gigahertz"},
    {"kB", "kilobyte", "kilobytes"},
    {"KB", "kilobyte", "kilobytes"},
    {"MB", "megabyte", "megabytes"},
    {"GB", "gigabyte", "gigabytes"},
    {"TB", "terabyte", "terabytes"},
    {"PB", "petabyte", "petabytes"},
    {"KiB", "kibibyte", "kibibytes"},
    {"MiB", "mebibyte", "mebibytes"},
    {"GiB", "gibibyte", "gibibytes"},
    {"Mb", "megabit", "megabits"},
    {"Gb", "gigabit", "gigabits"},
    {"kbps", "kilobit per second", "kilobits per second"},
    {"Mbps", "megabit per second", "megabits per second"},
    {"Gbps", "gigabit per second", "gigabits per second"},
    {"fps", "frame per second", "frames per second"},
    {"W", "watt", "watts"},
    {"kW", "kilowatt", "kilowatts"},
    {"MW", "megawatt", "megawatts"},
    {"GW", "gigawatt", "gigawatts"},
    {"Wh", "watt hour", "watt hours"},
    {"kWh", "kilowatt hour", "kilowatt hours"},
    {"mAh", "milliamp hour", "milliamp hours"},
    {"V", "volt", "volts"},
    {"mV", "millivolt", "millivolts"},
    {"kV", "kilovolt", "kilovolts"},
    {"mA", "milliamp", "milliamps"},
    {"dB", "decibel", "decibels"},
    {"kcal", "kilocalorie", "kilocalories"},
    {"kJ", "kilojoule", "kilojoules"},
    {"kPa", "kilopascal", "kilopascals"},
    {"hPa", "hectopascal", "hectopascals"},
    {"mmHg", "millimeter of mercury", "millimeters of mercury"},
    {"mmol", "millimole", "millimoles"},
    {"psi", "pound per square inch", "pounds per square inch"},
    {"px", "pixel", "pixels"},
    {"dpi", "dot per inch", "dots per inch"},
    {"ha", "hectare", "hectares"},
    {"\xB0", "degree", "degrees"},
    {"\xB0"
     "C",
     "degree celsius", "degrees celsius"},
    {"\xB0"
     "F",
     "degree fahrenheit", "degrees fahrenheit"},
    {"%", "percent", "percent"},
    {"x", "time", "times"},
    {"\xD7", "time", "times"},
    {"K", "K", "K"},
    {"k", "K", "K"},
    {"M", "million", "million"},
    {"bn", "billion", "billion"},
});

/// What units are told for, beside other units: "mg/day".
constexpr std::string_view kShares =
    " second minute hour day night week month year person serving head dose capita ";

struct Currency {
  std::string_view sign, one, many, cent, cents;
};
constexpr std::array kCurrencies = std::to_array<Currency>({
    {"US$", "U S dollar", "U S dollars", "cent", "cents"},
    {"A$", "australian dollar", "australian dollars", "cent", "cents"},
    {"C$", "canadian dollar", "canadian dollars", "cent", "cents"},
    {"$", "dollar", "dollars", "cent", "cents"},
    {"\x01", "euro", "euros", "cent", "cents"},
    {"\x02", "pound", "pounds", "penny", "pence"},
    {"\x03", "yen", "yen", "sen", "sen"},
    {"\x04", "rupee", "rupees", "paisa", "paise"},
    {"\x05", "won", "won", "jeon", "jeon"},
    {"\x06", "ruble", "rubles", "kopek", "kopeks"},
    {"\x07", "cent", "cents", "", ""},
    {"USD", "U S dollar", "U S dollars", "cent", "cents"},
    {"EUR", "euro", "euros", "cent", "cents"},
    {"GBP", "pound", "pounds", "penny", "pence"},
    {"JPY", "yen", "yen", "", ""},
    {"CHF", "swiss franc", "swiss francs", "", ""},
    {"CAD", "canadian dollar", "canadian dollars", "cent", "cents"},
    {"AUD", "australian dollar", "australian dollars", "cent", "cents"},
    {"INR", "rupee", "rupees", "paisa", "paise"},
    {"CNY", "yuan", "yuan", "", ""},
});
constexpr size_t kCodes = 11;  // rows from here on are codes

std::string simple_unit(std::string_view sign, bool one, bool after_per) {
  int power = 1;
  if (sign.size() > 2 && sign[sign.size() - 2] == '^' &&
      (sign.back() == '2' || sign.back() == '3')) {
    power = sign.back() - '0';
    sign.remove_suffix(2);
  }
  const auto it =
      std::find_if(kUnits.begin(), kUnits.end(), [&](const Unit& u) { return u.sign == sign; });
  if (it == kUnits.end()) return {};
  const std::string name(one ? it->one : it->many);
  if (power == 1) return name;
  const bool time = it->one == "second";
  if (after_per && time) return name + (power == 2 ? " squared" : " cubed");
  return (power == 2 ? "square " : "cubic ") + name;
}

const Currency* leading(std::string_view core) {
  const auto end = kCurrencies.begin() + kCodes;
  const auto it = std::find_if(kCurrencies.begin(), end,
                               [&](const Currency& c) { return core.starts_with(c.sign); });
  return it == end ? nullptr : &*it;
}

const Currency* trailing(std::string_view rest) {
  const auto it = std::find_if(kCurrencies.begin(), kCurrencies.end(),
                               [&](const Currency& c) { return rest == c.sign; });
  return it == kCurrencies.end() ? nullptr : &*it;
}

/// "37.50" -> "thirty seven" dollars, "fifty cents".
void set_money(Amount& amount, const Currency& currency, std::string_view size) {
  const std::string_view number = amount.number;
  const bool one = number == "1" && size.empty();
  amount.unit = one ? currency.one : currency.many;
  amount.singular = currency.one;
  amount.words = cardinal_words(number);
  amount.size = size;
  add(amount.words, size);
  const size_t dot = number.find('.');
  if (dot == number.npos || !size.empty()) return;
  const std::string_view part = number.substr(dot + 1), whole = number.substr(0, dot);
  const bool zero = part.find_first_not_of('0') == part.npos;
  if (!zero && (part.size() != 2 || currency.cent.empty())) return;
  amount.words = whole.empty() ? "zero" : cardinal_words(whole);
  amount.unit = whole == "1" ? currency.one : currency.many;
  if (zero) return;
  const int64_t cents = value_of(part);
  amount.cents = cardinal_words(std::to_string(cents));
  add(amount.cents, cents == 1 ? currency.cent : currency.cents);
  if (whole.empty() || whole == "0") amount.words.clear();
}

/// "/month", "/hr" behind an amount: " per month".
std::string per_words(std::string_view rest) {
  if (rest.size() < 2 || rest[0] != '/') return {};
  rest.remove_prefix(1);
  std::string unit = unit_words(rest, true);
  if (unit.empty() && all(rest, is_lower)) unit = rest;
  return unit.empty() ? unit : "per " + unit;
}

}  // namespace

std::string unit_words(std::string_view sign, bool one) {
  const auto parts = split(sign, '/');
  if (parts.size() > 2) return {};
  std::string out = simple_unit(parts[0], one, false);
  if (out.empty() || parts.size() == 1) return out;
  const std::string below = simple_unit(parts[1], true, true);
  if (below.empty() && !listed(kShares, parts[1])) return {};
  return out + " per " + (below.empty() ? std::string(parts[1]) : below);
}

std::string_view leading_currency(std::string_view core) {
  const Currency* currency = leading(core);
  return currency == nullptr ? std::string_view() : currency->sign;
}

bool is_currency(std::string_view sign) { return trailing(sign) != nullptr; }

bool is_money(std::string_view core) {
  if (core.starts_with('-')) core.remove_prefix(1);
  return core.size() > 1 && (leading(core) != nullptr || is_currency(core.substr(core.size() - 1)));
}

std::string_view magnitude(std::string_view text) {
  const std::string word = lower(text);
  if (word == "k" || word == "thousand") return "thousand";
  if (word == "m" || word == "mn" || word == "mm" || word == "million") return "million";
  if (word == "b" || word == "bn" || word == "billion") return "billion";
  if (word == "t" || word == "tn" || word == "trillion") return "trillion";
  return {};
}

std::string Amount::text(bool before_noun) const {
  std::string out = negative ? "minus" : "";
  if (!words.empty()) {
    add(out, words);
    add(out, before_noun ? singular : unit);
  }
  if (!cents.empty()) add(out, words.empty() ? cents : "and " + cents);
  return out;
}

std::optional<Amount> parse_amount(std::string_view core, std::string_view size) {
  Amount amount;
  if (core.size() > 1 && core[0] == '-') amount.negative = true, core.remove_prefix(1);
  const Currency* currency = leading(core);
  if (currency != nullptr) core.remove_prefix(currency->sign.size());
  if (currency != nullptr && core.starts_with('-')) amount.negative = true, core.remove_prefix(1);
  const size_t length = number_length(core);
  if (length == 0 || core[0] == '-' || (core[0] == '+' && currency != nullptr)) return {};
  amount.number = core.substr(0, length);
  const std::string_view rest = core.substr(length);
  if (currency == nullptr && (currency = trailing(rest)) != nullptr) {
    set_money(amount, *currency, size);
    return amount;
  }
  if (currency != nullptr) {
    const size_t slash = std::min(rest.find('/'), rest.size());
    const std::string_view glued = rest.substr(0, slash);  // "$60k/year"
    const std::string per = per_words(rest.substr(slash));
    if (!glued.empty() && magnitude(glued).empty()) return {};
    if (slash < rest.size() && per.empty()) return {};
    set_money(amount, *currency, rest.empty() ? size : magnitude(glued));
    if (!per.empty()) add(amount.cents.empty() ? amount.unit : amount.cents, per);
    return amount;
  }
  if (rest.empty()) {
    amount.words = number_words(amount.number);
    add(amount.words, size);
    return amount;
  }
  if (rest == "pt") return {};  // "12pt": of a font
  amount.unit = unit_words(rest, amount.number == "1");
  if (amount.unit.empty() && rest[0] == '/') {
    amount.unit = per_words(rest);
  } else {
    amount.singular = unit_words(rest, true);
  }
  if (amount.unit.empty()) return {};
  amount.words = cardinal_words(amount.number);
  return amount;
}

}  // namespace syrinx::english
