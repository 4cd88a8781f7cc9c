#include "text/english/units.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "text/english/chars.h"
#include "text/english/numbers.h"
#include "text/english/tables.h"
#include "text/english/word_lists.h"

namespace syrinx::english {
namespace {

using enum UnitPlace;

struct Unit {
  std::string sign, one, many;  ///< if `many` is "", the plural equals `one`
  std::string prefixes;         ///< prefixes of one character that the sign may have
  UnitPlace place = kAny;       ///< where the sign may be without a prefix
};

const std::vector<Unit>& units() {
  static const auto kRows = table_rows<Unit>(tables::units(), 2, 5, [](const Cells& c) {
    const size_t place = choice(c[4], {"", "glued", "apart", "letter", "per"});
    return Unit{c[0], c[1], c[2], c[3], static_cast<UnitPlace>(place)};
  });
  return kRows;
}

struct GluedLetters {
  std::string_view sign, words;
};
// Directly after a number, these letters are magnitudes, not units: "5K" is "five K".
constexpr std::array kGluedLetters =
    std::to_array<GluedLetters>({{"K", "K"}, {"k", "K"}, {"M", "million"}, {"bn", "billion"}});

struct UnitPrefix {
  char sign;
  std::string name;
};

const std::vector<UnitPrefix>& prefixes() {
  static const auto kRows = table_rows<UnitPrefix>(tables::prefixes(), 2, 2, [](const Cells& c) {
    return UnitPrefix{c[0][0], c[1]};
  });
  return kRows;
}

struct FoundUnit {
  const Unit* unit;
  std::string_view prefix;

  std::string name(bool one) const {
    return std::string(prefix) + std::string(one || unit->many.empty() ? unit->one : unit->many);
  }
};

std::optional<FoundUnit> find_unit(std::string_view sign) {
  const auto row = [](std::string_view text) {
    return std::find_if(units().begin(), units().end(),
                        [text](const Unit& unit) { return unit.sign == text; });
  };
  if (const auto whole = row(sign); whole != units().end()) return FoundUnit{&*whole, {}};
  if (sign.size() < 2) return {};
  const auto base = row(sign.substr(1));
  if (base == units().end() || base->prefixes.find(sign[0]) == std::string_view::npos) return {};
  const auto prefix = std::find_if(prefixes().begin(), prefixes().end(),
                                   [sign](const UnitPrefix& p) { return p.sign == sign[0]; });
  return FoundUnit{&*base, prefix->name};
}

/// Returns the name of a unit that is written in full: "miles", "kilometer".
std::string long_name(std::string_view word, bool one) {
  if (!all(word, is_lower)) return {};
  for (const Unit& unit : units()) {
    if (unit.place == kPer) continue;
    const std::string_view many = unit.many.empty() ? unit.one : unit.many;
    for (const std::string_view form : {std::string_view(unit.one), many}) {
      if (!word.ends_with(form)) continue;
      const std::string_view before = word.substr(0, word.size() - form.size());
      const bool prefixed =
          std::any_of(prefixes().begin(), prefixes().end(), [&](const UnitPrefix& p) {
            return p.name == before && unit.prefixes.find(p.sign) != std::string_view::npos;
          });
      if (before.empty() || prefixed) {
        return std::string(before) + std::string(one ? unit.one : many);
      }
    }
  }
  return {};
}

/// Returns the name of one unit with its power: "cm", "m^2", "ft3".
UnitName factor_name(std::string_view sign, bool one, bool after_per) {
  int power = 1;
  const bool squared = sign.size() > 1 && (sign.back() == '2' || sign.back() == '3');
  if (squared && sign.size() > 2 && sign[sign.size() - 2] == '^') {
    power = sign.back() - '0';
    sign.remove_suffix(2);
  } else if (squared && (listed(word_lists().lengths, sign.substr(0, sign.size() - 1)) ||
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

/// Returns the name of multiplied units: "kW*h". Only the last unit may be plural.
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

/// Returns the words of the unit after a slash: "h", "100km", "(ft^2*h", "day".
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
  if (unit.empty() && one && listed(word_lists().shares, sign)) unit = sign;
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
  if (parts.size() > 1) {  // "p/m^3"
    if (const auto whole = find_unit(sign)) return {whole->name(one), whole->unit->place};
  }
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
