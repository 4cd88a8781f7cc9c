#include "text/english/amounts.h"

#include <algorithm>

#include "text/english/chars.h"
#include "text/english/currencies.h"
#include "text/english/numbers.h"
#include "text/english/units.h"

namespace syrinx::english {
namespace {

/// Sets the words of an amount of money. "37.50": words "thirty seven", cents "fifty cents".
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

}  // namespace

std::string_view leading_currency(std::string_view core) {
  const Currency* currency = leading_currency_of(core);
  return currency == nullptr ? std::string_view() : currency->sign;
}

bool is_currency(std::string_view sign) { return currency_of(sign) != nullptr; }

bool is_money(std::string_view core) {
  if (core.starts_with('-')) core.remove_prefix(1);
  return core.size() > 1 &&
         (leading_currency_of(core) != nullptr || is_currency(core.substr(core.size() - 1)));
}

std::string_view magnitude(std::string_view text) {
  const std::string word = lower(text);
  if (word == "k" || word == "thousand") return "thousand";
  if (word == "m" || word == "mn" || word == "mm" || word == "million") return "million";
  if (word == "b" || word == "bn" || word == "billion") return "billion";
  if (word == "t" || word == "tn" || word == "trillion") return "trillion";
  if (word == "lakh" || word == "lakhs") return "lakh";
  if (word == "crore" || word == "crores") return "crore";
  return {};
}

std::string_view price_share(std::string_view word) {
  return word == "pp"     ? "per person"
         : word == "pppn" ? "per person per night"
         : word == "pcm"  ? "per calendar month"
         : word == "pw"   ? "per week"
                          : std::string_view();
}

std::string per_words(std::string_view rest) {
  if (rest.size() < 2 || rest[0] != '/') return {};
  rest.remove_prefix(1);
  const size_t length = is_digit(rest[0]) ? number_length(rest) : 0;
  if (length > 0) {  // "$2/1K tokens", "$3/100 g"
    const std::string_view behind = rest.substr(length);
    const std::string_view size = magnitude(behind);
    const std::string unit = size.empty() ? unit_words(behind, false) : std::string(size);
    if (!behind.empty() && unit.empty()) return {};
    std::string out = "per " + cardinal_words(rest.substr(0, length));
    add(out, unit);
    return out;
  }
  std::string unit = unit_name(rest, true).words;
  if (unit.empty() && all(rest, is_lower) && !listed(" tcp udp ", rest)) unit = rest;
  return unit.empty() ? unit : "per " + unit;
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
  const Currency* currency = leading_currency_of(core);
  if (currency != nullptr) core.remove_prefix(currency->sign.size());
  if (currency != nullptr && core.starts_with('-')) amount.negative = true, core.remove_prefix(1);
  const size_t length = number_length(core);
  if (length == 0 || core[0] == '-' || (core[0] == '+' && currency != nullptr)) return {};
  amount.number = core.substr(0, length);
  const std::string_view rest = core.substr(length);
  if (currency == nullptr) {  // the currency is at the end: "5¢/kWh", "2.5M€", "1.5bnUSD"
    const std::string_view behind = rest.substr(0, rest.find('/'));
    const size_t sign = std::min(behind.find_first_not_of("kKMmbBnT"), behind.size());
    const Currency* whole = currency_of(behind);
    currency = whole != nullptr ? whole : currency_of(behind.substr(sign));
    const std::string_view glued =
        whole != nullptr ? std::string_view() : magnitude(behind.substr(0, sign));
    const std::string per = per_words(rest.substr(behind.size()));
    const bool all_known =
        (whole != nullptr || !glued.empty()) && (behind.size() == rest.size() || !per.empty());
    if (currency != nullptr && !all_known) return {};
    if (currency != nullptr) {
      set_money(amount, *currency, whole != nullptr ? size : glued);
      if (!per.empty()) add(amount.cents.empty() ? amount.unit : amount.cents, per);
      return amount;
    }
  }
  if (currency != nullptr) {
    const size_t slash = std::min(rest.find('/'), rest.size());
    std::string_view glued = rest.substr(0, slash);  // "$60k/year"
    const bool plus = glued.ends_with('+');          // "$5+"
    if (plus) glued.remove_suffix(1);
    if (glued.ends_with("illion") && glued.starts_with('-'))
      glued.remove_prefix(1);  // "$5-million"
    std::string per = per_words(rest.substr(slash));
    if (slash == rest.size() && !price_share(glued).empty()) {  // "£4.50pp"
      per = price_share(glued);
      glued = {};
    }
    if (!glued.empty() && magnitude(glued).empty()) return {};
    if (slash < rest.size() && per.empty()) return {};
    set_money(amount, *currency, glued.empty() ? size : magnitude(glued));
    if (plus) add(amount.cents.empty() ? amount.unit : amount.cents, "plus");
    if (!per.empty()) add(amount.cents.empty() ? amount.unit : amount.cents, per);
    return amount;
  }
  if (rest.empty()) {
    amount.words = number_words(amount.number);
    add(amount.words, size);
    return amount;
  }
  if (rest == "pt") return {};  // "12pt": a font size
  amount.unit = unit_words(rest, amount.number == "1");
  if (amount.unit.empty() && rest[0] == '/' && rest.size() > 1 && !is_digit(rest[1])) {
    amount.unit = per_words(rest);
  } else {
    amount.singular = unit_words(rest, true);
  }
  if (amount.unit.empty()) return {};
  amount.words = cardinal_words(amount.number);
  return amount;
}

}  // namespace syrinx::english
