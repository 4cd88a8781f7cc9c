#include "text/english/units.h"

#include <algorithm>
#include <array>
#include <optional>

#include "text/english/chars.h"
#include "text/english/numbers.h"

namespace syrinx::english {
namespace {

using enum UnitPlace;

struct Unit {
  std::string_view sign, one, many;
  std::string_view prefixes = {};  ///< signs of one character that may stand before it
  UnitPlace place = kAny;          ///< of the sign without a prefix
};

// A row without "many" has one form. Rows come before signs that a prefix makes ("min", "cd").
constexpr std::array kUnits = std::to_array<Unit>({
    // length, area, volume
    {"m", "meter", "meters", "kcdm\xB5un"},
    {"mi", "mile", "miles"},
    {"nmi", "nautical mile", "nautical miles"},
    {"ft", "foot", "feet"},
    {"in", "inch", "inches", "", kGlued},
    {"yd", "yard", "yards"},
    {"yds", "yard", "yards"},
    {"ha", "hectare", "hectares"},
    {"ac", "acre", "acres"},
    {"l", "liter", "liters", "hcdm\xB5u"},
    {"L", "liter", "liters", "hcdmk\xB5u"},
    {"gal", "gallon", "gallons"},
    {"qt", "quart", "quarts"},
    {"qts", "quart", "quarts"},
    {"pt", "pint", "pints"},
    {"tbsp", "tablespoon", "tablespoons"},
    {"Tbsp", "tablespoon", "tablespoons"},
    {"TBSP", "tablespoon", "tablespoons"},
    {"tsp", "teaspoon", "teaspoons"},
    {"TSP", "teaspoon", "teaspoons"},
    {"pkg", "package", "packages"},
    {"pkgs", "package", "packages"},
    // mass and what is in it
    {"g", "gram", "grams", "km\xB5un"},
    {"t", "tonne", "tonnes", "", kApart},
    {"lb", "pound", "pounds"},
    {"lbs", "pound", "pounds"},
    {"oz", "ounce", "ounces"},
    {"st", "stone", "stone", "", kLetter},
    {"mol", "mole", "moles", "km\xB5un"},
    {"ppm", "part per million", "parts per million"},
    {"ppb", "part per billion", "parts per billion"},
    {"p", "particle", "particles", "", kPer},
    {"CCF", "hundred cubic feet", ""},
    {"MCF", "thousand cubic feet", ""},
    // time
    {"s", "second", "seconds", "m\xB5np"},
    {"us", "microsecond", "microseconds", "", kGlued},
    {"sec", "second", "seconds"},
    {"secs", "second", "seconds"},
    {"min", "minute", "minutes"},
    {"mins", "minute", "minutes"},
    {"h", "hour", "hours"},
    {"hr", "hour", "hours"},
    {"hrs", "hour", "hours"},
    {"d", "day", "days", "", kApart},
    {"w", "week", "weeks", "", kApart},
    {"wk", "week", "weeks"},
    {"wks", "week", "weeks"},
    {"mo", "month", "months", "", kGlued},
    {"y", "year", "years", "", kApart},
    {"yr", "year", "years"},
    {"yrs", "year", "years"},
    {"Hz", "hertz", "", "mkMGT"},
    // speed and rates
    {"mph", "mile per hour", "miles per hour"},
    {"kph", "kilometer per hour", "kilometers per hour"},
    {"kmh", "kilometer per hour", "kilometers per hour"},
    {"kn", "knot", "knots"},
    {"kt", "knot", "knots"},
    {"kts", "knot", "knots"},
    {"mpg", "mile per gallon", "miles per gallon"},
    {"rpm", "revolution per minute", "revolutions per minute"},
    {"bpm", "beat per minute", "beats per minute"},
    {"fps", "frame per second", "frames per second"},
    // electricity and light
    {"W", "watt", "watts", "mkMGT\xB5un"},
    {"Wh", "watt hour", "watt hours", "mkMGT"},
    {"V", "volt", "volts", "mkM\xB5un"},
    {"A", "amp", "amps", "mk\xB5un", kLetter},
    {"Ah", "amp hour", "amp hours", "mk"},
    {"VA", "volt amp", "volt amps", "mkM"},
    {"VAC", "V A C", ""},
    {"VDC", "V D C", ""},
    {"var", "var", "vars", "mkM", kApart},
    {"varh", "var hour", "var hours", "kM"},
    {"Ohm", "ohm", "ohms", "mG\xB5"},
    {"kOhm", "kilohm", "kilohms"},
    {"MOhm", "megohm", "megohms"},
    {"F", "farad", "farads", "m\xB5unp", kPer},
    {"H", "henry", "henries", "m\xB5un", kPer},
    {"T", "tesla", "teslas", "m\xB5un", kPer},
    {"S", "siemens", "", "m\xB5un", kPer},
    {"lm", "lumen", "lumens", "k"},
    {"lx", "lux", "", "k"},
    {"cd", "candela", "candelas"},
    // energy, force and pressure
    {"J", "joule", "joules", "mkMGT", kLetter},
    {"cal", "calorie", "calories", "kMG"},
    {"eV", "electron volt", "electron volts", "kMGT"},
    {"BTU", "B T U", ""},
    {"Btu", "B T U", ""},
    {"hp", "horsepower", ""},
    {"N", "newton", "newtons", "mk", kLetter},
    {"Nm", "newton meter", "newton meters", "k"},
    {"Pa", "pascal", "pascals", "hkMGm"},
    {"bar", "bar", ""},
    {"mbar", "millibar", "millibars"},
    {"cbar", "centibar", "centibars"},
    {"mmHg", "millimeter of mercury", "millimeters of mercury"},
    {"inHg", "inch of mercury", "inches of mercury"},
    {"inH2O", "inch of water", "inches of water"},
    {"psi", "pound per square inch", "pounds per square inch"},
    {"Sv", "sievert", "sieverts", "m\xB5un"},
    {"Bq", "becquerel", "becquerels", "kMGT"},
    {"dB", "decibel", "decibels"},
    {"dBA", "decibel A", "decibels A"},
    {"dB(A", "decibel A", "decibels A"},
    {"dBm", "decibel milliwatt", "decibel milliwatts"},
    // data
    {"bit", "bit", "bits", "kMGT"},
    {"b", "bit", "bits", "MG", kPer},
    {"B", "byte", "bytes", "kKMGTPEZY", kLetter},
    {"KiB", "kibibyte", "kibibytes"},
    {"MiB", "mebibyte", "mebibytes"},
    {"GiB", "gibibyte", "gibibytes"},
    {"TiB", "tebibyte", "tebibytes"},
    {"PiB", "pebibyte", "pebibytes"},
    {"EiB", "exbibyte", "exbibytes"},
    {"ZiB", "zebibyte", "zebibytes"},
    {"YiB", "yobibyte", "yobibytes"},
    {"bps", "bit per second", "bits per second", "kMGT"},
    {"req", "request", "requests", "", kPer},
    {"tok", "token", "tokens", "", kPer},
    {"MTok", "million tokens", "", "", kPer},
    {"Mtok", "million tokens", "", "", kPer},
    {"it", "iteration", "iterations", "", kPer},
    {"px", "pixel", "pixels"},
    {"dpi", "dot per inch", "dots per inch"},
    // angle and temperature
    {"\xB0", "degree", "degrees"},
    {"deg", "degree", "degrees"},
    {"rad", "radian", "radians", "m"},
    {"\xB0"
     "C",
     "degree celsius", "degrees celsius"},
    {"degC", "degree celsius", "degrees celsius"},
    {"\xB0"
     "F",
     "degree fahrenheit", "degrees fahrenheit"},
    {"degF", "degree fahrenheit", "degrees fahrenheit"},
    {"K", "kelvin", "", "m", kLetter},
    // counts
    {"%", "percent", ""},
    {"x", "time", "times", "", kGlued},
    {"\xD7", "time", "times", "", kGlued},
    {"ct", "cent", "cents", "", kPer},
});

struct GluedLetters {
  std::string_view sign, words;
};
// Glued to a number these are no units.
constexpr std::array kGluedLetters =
    std::to_array<GluedLetters>({{"K", "K"}, {"k", "K"}, {"M", "million"}, {"bn", "billion"}});

struct UnitPrefix {
  char sign;
  std::string_view name;
};
constexpr std::array kUnitPrefixes = std::to_array<UnitPrefix>({{'Y', "yotta"},
                                                                {'Z', "zetta"},
                                                                {'E', "exa"},
                                                                {'P', "peta"},
                                                                {'T', "tera"},
                                                                {'G', "giga"},
                                                                {'M', "mega"},
                                                                {'k', "kilo"},
                                                                {'K', "kilo"},
                                                                {'h', "hecto"},
                                                                {'d', "deci"},
                                                                {'c', "centi"},
                                                                {'m', "milli"},
                                                                {'\xB5', "micro"},
                                                                {'u', "micro"},
                                                                {'n', "nano"},
                                                                {'p', "pico"}});

/// Units whose squares and cubes are written without a sign: "m2", "ft3".
constexpr std::string_view kLengths = " m km cm mm dm um \xB5m nm ft in yd mi ";
/// What units are counted for, beside other units: "mg/day".
constexpr std::string_view kShares =
    " second minute hour day night week month year person serving head dose capita ";

struct FoundUnit {
  const Unit* unit;
  std::string_view prefix;

  std::string name(bool one) const {
    return std::string(prefix) + std::string(one || unit->many.empty() ? unit->one : unit->many);
  }
};

std::optional<FoundUnit> find_unit(std::string_view sign) {
  const auto row = [](std::string_view text) {
    return std::find_if(kUnits.begin(), kUnits.end(),
                        [text](const Unit& unit) { return unit.sign == text; });
  };
  if (const auto whole = row(sign); whole != kUnits.end()) return FoundUnit{&*whole, {}};
  if (sign.size() < 2) return {};
  const auto base = row(sign.substr(1));
  if (base == kUnits.end() || base->prefixes.find(sign[0]) == std::string_view::npos) return {};
  const auto prefix = std::find_if(kUnitPrefixes.begin(), kUnitPrefixes.end(),
                                   [sign](const UnitPrefix& p) { return p.sign == sign[0]; });
  return FoundUnit{&*base, prefix->name};
}

/// A unit in full: "miles", "kilometer".
std::string long_name(std::string_view word, bool one) {
  if (!all(word, is_lower)) return {};
  for (const Unit& unit : kUnits) {
    if (unit.place == kPer) continue;
    const std::string_view many = unit.many.empty() ? unit.one : unit.many;
    for (const std::string_view form : {unit.one, many}) {
      if (!word.ends_with(form)) continue;
      const std::string_view before = word.substr(0, word.size() - form.size());
      const bool prefixed =
          std::any_of(kUnitPrefixes.begin(), kUnitPrefixes.end(), [&](const UnitPrefix& p) {
            return p.name == before && unit.prefixes.find(p.sign) != std::string_view::npos;
          });
      if (before.empty() || prefixed) {
        return std::string(before) + std::string(one ? unit.one : many);
      }
    }
  }
  return {};
}

/// One unit with its power: "cm", "m^2", "ft3".
UnitName factor_name(std::string_view sign, bool one, bool after_per) {
  int power = 1;
  const bool squared = sign.size() > 1 && (sign.back() == '2' || sign.back() == '3');
  if (squared && sign.size() > 2 && sign[sign.size() - 2] == '^') {
    power = sign.back() - '0';
    sign.remove_suffix(2);
  } else if (squared && (listed(kLengths, sign.substr(0, sign.size() - 1)) ||
                         (after_per && sign.substr(0, sign.size() - 1) == "s"))) {
    power = sign.back() - '0';
    sign.remove_suffix(1);
  }
  const auto found = find_unit(sign);
  if (!found) return {};
  const UnitPlace place = found->prefix.empty() ? found->unit->place : kAny;
  std::string name = found->name(one);
  if (power == 1) return {name, place};
  const bool time = found->unit->one == "second";
  if (after_per && time) return {name + (power == 2 ? " squared" : " cubed"), kAny};
  return {(power == 2 ? "square " : "cubic ") + name, kAny};
}

/// Units that are multiplied: "kW*h". The last has the number of all.
UnitName product_name(std::string_view sign, bool one, bool after_per) {
  UnitName out;
  while (!sign.empty()) {
    const size_t end = std::min(sign.find_first_of("\xD7\xB7*"), sign.size());
    const bool last = end == sign.size();
    const UnitName part = factor_name(sign.substr(0, end), one || !last, after_per);
    if (part.words.empty()) return {};
    add(out.words, part.words);
    out.place = part.place;
    sign.remove_prefix(last ? end : end + 1);
  }
  return out;
}

/// What follows a slash: "h", "100km", "(ft^2*h", "day".
std::string share_words(std::string_view sign) {
  if (sign.starts_with('(')) sign.remove_prefix(1);
  if (sign.ends_with(')')) sign.remove_suffix(1);
  const size_t digits = std::min(sign.find_first_not_of("0123456789"), sign.size());
  const std::string_view count = sign.substr(0, digits);
  if (!count.empty() && !listed(" 1 10 100 1000 ", count)) return {};
  std::string out = count.empty() ? std::string() : cardinal_words(count);
  sign.remove_prefix(digits);
  const bool one = count.empty() || count == "1";
  std::string unit = product_name(sign, one, true).words;
  if (unit.empty() && one && listed(kShares, sign)) unit = sign;
  if (unit.empty()) unit = long_name(sign, one);
  if (unit.empty()) return {};
  add(out, unit);
  return out;
}

}  // namespace

std::string per_unit(std::string_view sign) {
  const std::string share = share_words(sign);
  return share.empty() ? share : "per " + share;
}

bool is_unit_word(std::string_view word) { return !long_name(word, false).empty(); }

UnitName unit_name(std::string_view sign, bool one) {
  if (sign.empty() || sign.size() > 32) return {};
  const auto parts = split(sign, '/');
  if (parts.size() > 3) return {};
  UnitName out = product_name(parts[0], one, false);
  if (parts.size() == 1) return out;
  if (out.words.empty()) out.words = long_name(parts[0], one);
  if (out.words.empty()) return {};
  for (size_t i = 1; i < parts.size(); ++i) {
    const std::string share = share_words(parts[i]);
    if (share.empty()) return {};
    add(out.words, "per " + share);
  }
  out.place = kAny;
  return out;
}

std::string unit_words(std::string_view sign, bool one) {
  for (const GluedLetters& letters : kGluedLetters) {
    if (letters.sign == sign) return std::string(letters.words);
  }
  const UnitName name = unit_name(sign, one);
  const bool glued = name.place == kAny || name.place == kGlued;
  return glued ? name.words : std::string();
}

}  // namespace syrinx::english
