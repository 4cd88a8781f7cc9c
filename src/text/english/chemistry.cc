// Reads chemical formulas letter by letter: "NaHCO3" is "N A H C O three".
#include <algorithm>

#include "text/english/chars.h"
#include "text/english/numbers.h"
#include "text/english/rules.h"
#include "text/english/spelling.h"
#include "text/english/word_lists.h"

namespace syrinx::english {
namespace {

struct Formula {
  std::string words, letters;
  int elements = 0, counts = 0;
  bool small = false, inner = false;  ///< a symbol has two letters; a digit is not at the end
};

/// Parses a formula, which has only symbols of elements, digits and brackets.
bool parse(std::string_view core, Formula& out) {
  for (size_t at = 0; at < core.size();) {
    const char c = core[at];
    if (c == '(' || c == ')') {
      ++at;
    } else if (is_digit(c)) {
      size_t end = at;
      while (end < core.size() && is_digit(core[end])) ++end;
      if (at == 0 || end - at > 2 || c == '0') return false;
      add(out.words, cardinal_words(core.substr(at, end - at)));
      ++out.counts;
      out.inner |= end < core.size();
      at = end;
    } else {
      size_t size = at + 1 < core.size() && is_lower(core[at + 1]) ? 2 : 1;
      const std::string_view symbol = core.substr(at, size);
      if (!is_upper(c) || !listed(word_lists().elements, symbol)) return false;
      add(out.words, letter_names(symbol));
      for (const char letter : symbol) out.letters += to_upper(letter);
      out.small |= size == 2;
      ++out.elements;
      at += size;
    }
  }
  return true;
}

/// Reads "uranium-238", "Cs-137", "Tc-99m".
Reading read_isotope(std::string_view core) {
  const size_t hyphen = core.find('-');
  if (hyphen == core.npos || hyphen < 2) return {};
  const std::string_view element = core.substr(0, hyphen);
  std::string_view mass = core.substr(hyphen + 1);
  const bool excited = mass.size() > 1 && mass.back() == 'm';
  if (excited) mass.remove_suffix(1);
  const bool symbol =
      element.size() == 2 && is_lower(element[1]) && listed(word_lists().elements, element);
  if (!is_digits(mass, 1, 3) || !(symbol || listed(word_lists().element_names, lower(element))))
    return {};
  std::string words = symbol ? letter_names(element) : lower(element);
  add(words, mass.size() == 3 ? pair_words(mass) : cardinal_words(mass));
  if (excited) words += " M";
  return Spoken{words};
}

/// Returns whether a formula with figures stands before token i + 3: "2Fe + 3CO2".
bool has_formula(const Tokens& tokens, size_t i) {
  for (size_t k = 0; k < std::min(tokens.size(), i + 3); ++k) {
    const std::string_view core = tokens.core(k);
    Formula formula;
    const bool parsed =
        parse(core.substr(std::min(core.find_first_not_of("0123456789"), core.size())), formula);
    if (parsed && formula.counts > 0 && formula.elements > 1) return true;
  }
  return false;
}

}  // namespace

bool is_negative_ion(std::string_view core) { return listed(word_lists().negative_ions, core); }

Reading read_formula(const Tokens& tokens, size_t i) {
  const std::string_view core = tokens.core(i);
  if (core.size() < 2 || core.size() > 24) return {};
  if (auto isotope = read_isotope(core)) return isotope;
  if (core.back() == '-' && is_negative_ion(core.substr(0, core.size() - 1))) {
    Formula formula;
    if (parse(core.substr(0, core.size() - 1), formula)) return Spoken{formula.words + " minus"};
  }
  if (core.back() == '+') {  // "Na+", "Ca2+"
    std::string_view ion = core.substr(0, core.size() - 1);
    std::string charge;
    if (ion.size() > 1 && is_digit(ion.back()) && ion != "NH4") {
      charge = cardinal_words(ion.substr(ion.size() - 1)) + ' ';
      ion.remove_suffix(1);
    }
    Formula formula;
    if (!listed(word_lists().positive_ions, ion) || !parse(ion, formula)) return {};
    return Spoken{formula.words + ' ' + charge + "plus"};
  }
  const size_t count = core.find_first_not_of("0123456789");  // "2Fe"
  constexpr std::string_view kOperators = " + plus = equals ";
  const bool term = count != 0 || listed(kOperators, tokens.before(i)) ||
                    listed(kOperators, tokens.after(i));  // but not "He" in "He lives in NW1"
  if (count < 3 && core.size() == count + 2 && is_lower(core.back()) && term &&
      listed(word_lists().elements, core.substr(count)) && has_formula(tokens, i)) {
    std::string words = count > 0 ? cardinal_words(core.substr(0, count)) : "";
    add(words, letter_names(core.substr(count)));
    return Spoken{words};
  }
  Formula formula;
  if (!parse(core, formula)) return {};
  const bool known = listed(word_lists().formulas, core) || listed(word_lists().molecules, core);
  const bool numbered =
      formula.counts > 0 && formula.elements > 1 &&
      (formula.small || formula.inner || listed(word_lists().formula_groups, formula.letters));
  if (!(known || numbered) || core == "CO") return {};
  return Spoken{formula.words};
}

}  // namespace syrinx::english
