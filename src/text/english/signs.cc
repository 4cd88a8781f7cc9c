// Reads tokens that no other rule reads: words, and the signs between words.
#include <algorithm>
#include <vector>

#include "text/english/chars.h"
#include "text/english/numbers.h"
#include "text/english/rules.h"
#include "text/english/spelling.h"
#include "text/english/tables.h"
#include "text/english/word_lists.h"
#include "text/sentence_rules.h"

namespace syrinx::english {
namespace {

struct Operator {
  std::string sign, words;
};

const std::vector<Operator>& operators() {
  static const auto kRows = table_rows<Operator>(tables::operators(), 1, 2, [](const Cells& c) {
    return Operator{c[0], c[1]};
  });
  return kRows;
}

const Operator* operator_at(std::string_view text) {
  const auto it = std::find_if(operators().begin(), operators().end(),
                               [text](const Operator& o) { return text.starts_with(o.sign); });
  return it == operators().end() ? nullptr : &*it;
}

/// Returns whether the token is a single sign of arithmetic or code.
bool is_operator(std::string_view core) {
  if (core == "-" || core == "*" || core == "/") return true;
  const Operator* found = operator_at(core);
  return found != nullptr && found->sign == core && core != "@" && core != "&";
}

/// Returns whether the text after a # is a tag that begins with a number: "100DaysOfCode".
bool hashed_words(std::string_view text) {
  return text.find_first_not_of("0123456789") != text.npos &&
         std::all_of(text.begin(), text.end(), is_alnum) &&
         std::count_if(text.begin(), text.end(), is_lower) > 2;
}

/// Returns whether the "_" at `at` stands between a letter and its index, which is a number or one
/// or two letters: "x_i", "a_10"; not in "my_file".
bool is_subscript(std::string_view core, size_t at) {
  if (at == 0 || !is_letter(core[at - 1]) || (at > 1 && is_alnum(core[at - 2]))) return false;
  const std::string_view rest = core.substr(at + 1);
  const auto other = std::find_if(rest.begin(), rest.end(), [](char c) { return !is_alnum(c); });
  const std::string_view index = rest.substr(0, static_cast<size_t>(other - rest.begin()));
  const bool ends = other == rest.end() || *other != '_';
  return ends && (is_digits(index, 1, 3) || (index.size() < 3 && all(index, is_letter)));
}

/// Reads a token from left to right.
class SignReader {
 public:
  SignReader(std::string_view core, bool shouting, std::string_view star)
      : core_(core), star_(star), shouting_(shouting) {
    const size_t open = core.find('<');
    brackets_ = open != core.npos && core.find('>', open) != core.npos;
    equation_ = core.find('=') != core.npos;
    several_ = !std::all_of(core.begin(), core.end(), in_word);
  }

  std::string run() {
    while (at_ < core_.size()) {
      if (in_word(core_[at_])) {
        word();
      } else {
        sign();
      }
    }
    return std::move(out_);
  }

 private:
  static bool in_word(char c) { return is_alnum(c) || c == '\''; }
  char ch(size_t i) const { return i < core_.size() ? core_[i] : ' '; }
  char last() const { return at_ > 0 ? core_[at_ - 1] : ' '; }

  void word() {
    const size_t number = is_digit(core_[at_]) ? number_length(core_.substr(at_)) : 0;
    size_t end = at_;
    while (end < core_.size() && in_word(core_[end])) ++end;
    const size_t begin = at_;
    if (number > 0 && at_ + number >= end) {  // "2.5" and "1,000" contain marks
      add(out_, number_words(core_.substr(at_, number)));
      at_ += number;
      return;
    }
    std::string_view word = core_.substr(at_, end - at_);
    at_ = end;
    while (word.size() > 1 && word.front() == '\'' && !listed(" 'n' 'tis 'twas 'em ", word)) {
      word.remove_prefix(1);
    }
    if (!any(word, is_alnum)) return;
    if (begin > 0 && core_[begin - 1] == '.' && core_.substr(begin) == "'s") {
      out_ += "'s";  // "the U.N.'s"
      return;
    }
    if (begin > 0 && core_[begin - 1] == '&' && word.size() == 2 && is_upper(word[0]) &&
        word[1] == 's') {
      return add(out_, letter_names(word.substr(0, 1)) + "'s");  // "M&Ms"
    }
    if (several_ && word.size() == 2 && is_letter(word[0]) && word[1] == '\'') {
      return add(out_, letter_names(word) + " prime");  // "f'(x)"
    }
    const std::string_view tens = word.substr(0, word.size() - 1);
    if (word.ends_with("0s") && is_digits(tens, 2, 4)) {  // "mid-80s"
      return add(out_, decade_words(value_of(tens)));
    }
    const size_t digits = std::min(word.find_first_not_of("0123456789"), word.size());
    if (digits > 0 && digits < 10 && listed(" st nd rd th ", lower(word.substr(digits)))) {
      return add(out_, ordinal_words(value_of(word.substr(0, digits))));  // "19th-century"
    }
    if (digits > 0 && digits < 10 && word.size() > digits + 2 && is_upper(word[digits + 2]) &&
        listed(" st nd rd th ", word.substr(digits, 2))) {  // "#4thOfJuly"
      add(out_, ordinal_words(value_of(word.substr(0, digits))));
      return add(out_, word_words(word.substr(digits + 2), shouting_));
    }
    // "a" is the article in "vis-a-vis", a letter in "a/b".
    const bool article = word == "a" && begin > 0 && core_[begin - 1] == '-' && ch(end) == '-';
    const bool firm = (ch(end) == '&' || (begin > 0 && core_[begin - 1] == '&')) &&
                      all(word, is_upper);  // "AT&T"
    add(out_, firm || (several_ && !article && word.size() == 1 && is_letter(word[0]))
                  ? letter_names(word)
                  : word_words(word, shouting_));
  }

  void sign() {
    const char c = core_[at_], before = last(), after = ch(at_ + 1);
    const bool numbers = is_digit(before) && is_digit(after);
    size_t used = 1;
    switch (c) {
      case '#':
        if (is_digit(after)) {
          add(out_, hashed_words(core_.substr(at_ + 1)) ? "hashtag" : "number");
        }
        if (is_letter(after)) add(out_, "hashtag");
        break;
      case '^':
        used += power();
        break;
      case '*':
        if (is_alnum(before) && is_alnum(after)) add(out_, "times");
        if (at_ == 0 && after == '.') add(out_, "star");  // "*.txt"
        if (core_.size() == 1) add(out_, star_);
        break;
      case '_':
        if (is_subscript(core_, at_)) add(out_, "sub");
        break;
      case '~':
        if (is_digit(after)) add(out_, is_alnum(before) ? "tilde" : "about");  // "HEAD~3"
        break;
      case '/':
        slash(before, after);
        break;
      case '.':
        if (numbers) add(out_, "point");
        if (is_lower(after)) add(out_, "dot");
        break;
      case '-':
        if (operator_at(core_.substr(at_)) != nullptr) {
          ++used;  // "->", "-="
          add(out_, operator_at(core_.substr(at_))->words);
        } else if ((is_digit(after) && !is_alnum(before)) || begins_power(after) ||
                   (numbers && (equation_ || core_.find('^') != core_.npos)) || core_.size() == 1) {
          add(out_, "minus");
        } else if (at_ == 0) {
          option(used);
        }
        break;
      case '(':
        if (core_.substr(at_) == "(s") out_ += 's', ++used;  // "item(s)"
        break;
      default:
        used = named();
    }
    at_ += used;
  }

  /// Returns whether the minus is the sign of a power: "e^-x", "e^(-x)", "e^{-x}".
  bool begins_power(char after) const {
    const std::string_view before = core_.substr(0, at_);
    return is_letter(after) &&
           (before.ends_with('^') || before.ends_with("^(") || before.ends_with("^{"));
  }

  /// Reads a power, "^2", "^10"; returns its number of characters.
  size_t power() {
    const size_t length = number_length(core_.substr(at_ + 1));
    const std::string_view power = core_.substr(at_ + 1, length);
    if (power == "2") {
      add(out_, "squared");
    } else if (power == "3") {
      add(out_, "cubed");
    } else {
      add(out_, "to the");
      add(out_, length > 0 ? cardinal_words(power) : std::string());
    }
    return length;
  }

  void slash(char before, char after) {
    if (at_ == 0 && is_digits(core_.substr(1), 1, 3)) add(out_, "slash");  // "a /24 network"
    if (!is_alnum(before) || !is_alnum(after)) return;
    const auto parts = split(core_, '/');
    const bool pronouns = std::all_of(parts.begin(), parts.end(), [](std::string_view part) {
      return listed(" he she his her him hers they their them ", lower(part));
    });
    if (pronouns) return add(out_, "or");
    const bool capitals = std::all_of(parts.begin(), parts.end(), [](std::string_view part) {
      return part.size() < 5 && all(part, is_upper);
    });
    if (!capitals && !core_.ends_with("-9/11"))
      add(out_, is_digit(before) && is_digit(after) ? "over" : "slash");
  }

  /// Reads options: "--verbose", "-v"; in "--yes" and "--but" the two hyphens are a dash.
  void option(size_t& used) {
    const bool two = ch(1) == '-';
    if (two && is_letter(ch(2))) {
      if (!is_starter(lower(core_.substr(2)))) add(out_, "dash dash");
      ++used;
    } else if (is_letter(ch(1)) && core_.size() == 2) {
      add(out_, "dash");
    }
  }

  size_t named() {
    const Operator* found = operator_at(core_.substr(at_));
    if (found == nullptr) return 1;
    const bool bracket = brackets_ && (found->sign == "<" || found->sign == ">");
    if (!bracket) add(out_, found->words);
    return found->sign.size();
  }

  std::string_view core_;
  std::string_view star_;  ///< the word for a star that stands alone
  bool shouting_, brackets_ = false, equation_ = false, several_ = false;
  size_t at_ = 0;
  std::string out_;
};

/// Returns whether "A" is a letter that names something, not the article.
bool is_letter_a(const Tokens& tokens, size_t i) {
  const std::string_view before = tokens.before(i), after = tokens.after(i);
  if (is_operator(before) || is_operator(after)) return true;
  const auto capital = [](std::string_view core) {
    return core.size() == 1 && is_upper(core[0]) && core != "I";
  };
  if (tokens.core(i) == "A" && capital(after)) return true;                    // "A B C"
  if (i > 1 && capital(before) && capital(tokens.before(i - 1))) return true;  // "N A S A said"
  if (listed(" minus to about intersection union ", after) && tokens.core(i + 2).size() == 1)
    return true;
  if (tokens.core(i) == "a") return false;
  if (listed(" to & ", after) && capital(tokens.core(i + 2))) return true;  // "A to Z", "A & B"
  if (listed(" zero one two three four five six seven eight nine ", before)) return true;
  const bool ends = i + 1 >= tokens.size() || tokens[i].close != 0;
  return listed(word_lists().letter_nouns, lower(before)) ||
         (ends && (i > 0 || tokens[i].close != 0));
}

/// Returns whether capitals are a stressed word: "I AM here", "WHO said so?", "She did IT".
bool is_accented(const Tokens& tokens, size_t i) {
  const std::string_view core = tokens.core(i);
  const std::string before = lower(tokens.before(i));
  if (core == "AM") return before == "i" || before == "so";
  if (core == "WHO") return !listed(" the by of from with and ", before);
  return core == "IT" && listed(" did didn't saw hate hated love loved took ", before);
}

/// Returns whether a slash means division: "10 / 2 = 5", or only "10 / 2", "x_i / n". Any other
/// slash separates alternatives: "first / last".
bool is_division(const Tokens& tokens, size_t i) {
  if (tokens.core(i) != "/") return false;
  const std::string_view before = tokens.before(i), after = tokens.after(i);
  const bool numbers = is_number(before) && is_number(after);
  if (numbers && (tokens.size() == 3 || tokens.after(i + 1) == "=")) return true;
  const auto indexed = [](std::string_view core) {
    return core.size() > 2 && core[1] == '_' && is_subscript(core, 1);
  };
  const auto variable = [&](std::string_view core) {
    return core.size() == 1 ? is_letter(core[0]) : indexed(core) || is_number(core);
  };
  return variable(before) && variable(after) && (indexed(before) || indexed(after));
}

}  // namespace

Spoken read_signs(const Tokens& tokens, size_t i) {
  const std::string_view core = tokens.core(i);
  if (core == "a" || core == "A") return {is_letter_a(tokens, i) ? "A" : "a"};
  if (is_division(tokens, i)) return {is_number(tokens.before(i)) ? "divided by" : "over"};
  if (core == "#" && i > 0) return {"pound"};  // "press # to finish"
  const bool heading = core.find_first_not_of('#') == core.npos;
  if (heading) return {};
  const bool shouting = all(core.substr(0, core.find('\'')), is_upper) &&
                        (is_accented(tokens, i) || is_shouting(tokens, i));
  const std::string before = lower(tokens.before(i));
  const bool column = listed(" select press hit the a ", before) ||  // "SELECT * FROM users"
                      (i > 0 && tokens.after(i) == "to");
  const bool negative =
      core.size() > 1 && core[0] == '-' && is_letter(core[1]) &&
      (core.size() == 2 || !is_letter(core[2]) || all(core.substr(1), is_upper)) &&
      is_operator(i > 0 && tokens[i].opens ? tokens.core(i - 1) : tokens.before(i));
  std::string words =
      SignReader(core.substr(negative ? 1 : 0), shouting, column ? "star" : "times").run();
  return {negative ? "minus " + words : words};  // "x = -b", "x = (-b"
}

}  // namespace syrinx::english
