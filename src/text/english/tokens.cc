#include "text/english/tokens.h"

#include <algorithm>

#include "text/english/chars.h"
#include "text/english/currencies.h"
#include "text/english/token_forms.h"
#include "text/english/word_lists.h"

namespace syrinx::english {
namespace {

constexpr size_t kMaxRun = 400;                // most characters of a token; longer runs are cut
constexpr std::string_view kMarks = ".,;:!?";  // in "etc.," the mark is the comma

bool has(std::string_view set, char c) { return set.find(c) != set.npos; }

bool is_lead_sign(char c) {
  return has("+-~#@&=<>/%\\!^", c) || c == kMicro || c == kDegree || c == kTimes || c == kEnDash ||
         is_currency_sign(c);
}
bool is_trail_sign(char c) {
  return has("%+#&=<>@/-~", c) || c == kDegree || c == kTimes || c == kEnDash ||
         is_currency_sign(c);
}

bool is_dash(char c) { return c == '-' || c == kEnDash || c == kPause; }

int strength(char mark) { return static_cast<int>(kMarks.find(mark)); }

/// The text between two spaces.
struct Run {
  Token token;
  bool bare = false;  ///< whether the run has only punctuation
};

class Cutter {
 public:
  Cutter(const FoldedChar* chars, size_t count) : chars_(chars), count_(count) {}

  Run cut() {
    size_t first = 0, last = count_;
    while (first < count_ && !begins_core(first)) ++first;
    Run run;
    if (first == count_) {  // neither a letter nor a sign
      read_edges(run.token, count_, 0, 0);
      run.bare = true;
      return run;
    }
    while (last > first && !ends_core(last - 1)) --last;
    if (last == first) last = first + 1;
    last = std::max(last, first + address(first));
    if (ch(last) == '-' && is_negative_ion(text(first, last))) ++last;
    Token& token = run.token;
    size_t behind = last;
    const size_t mark = price_mark(first);
    size_t mark_end = mark;
    if (mark < count_) {
      size_t end = mark + 1;
      while (is_dash(ch(end))) ++end;
      if (ch(end) == '/' && end < last) {
        mark_end = end;  // "20.-/kg"
      } else if (!is_alnum(ch(end))) {
        last = mark, behind = end;
      }
    }
    read_edges(token, first, last, behind);
    token.said = true;
    for (size_t i = first; i < last; ++i) {
      if (i == mark) i = std::max(mark_end, mark);
      token.core += chars_[i].ch;
      token.strong |= chars_[i].strong;
      token.said &= chars_[i].said;
    }
    token.begin = chars_[first].begin;
    token.end = chars_[last - 1].end;
    if (!any(token.core, is_alnum)) {
      const bool sign =
          token.core.size() <= 3 && !has("-#~", token.core[0]) && token.core[0] != kEnDash;
      const bool measure =
          token.core[0] == '%' || token.core[0] == kDegree || is_currency_sign(token.core[0]);
      const bool quoted = first == 1 && last == 2 && count_ > 2 && ch(0) == ch(2) &&
                          has("\"'", ch(0)) && has("&+=@#<>", token.core[0]);   // "the "&" sign"
      const bool drawn = !measure && !quoted && (last < count_ || first > 0);   // ">_<", "=)"
      const bool root = first == 0 && token.core == "/" && token.close == '.';  // "in /."
      run.bare = !sign || (drawn && !root);
      if (!sign) token.closes = true;
    }
    return run;
  }

 private:
  char ch(size_t i) const { return i < count_ ? chars_[i].ch : ' '; }

  std::string text(size_t first, size_t last) const {
    std::string out;
    for (size_t i = first; i < last && out.size() < 8; ++i) out += ch(i);
    return out;
  }
  /// Returns the number of characters of a shortened IPv6 address from i on: "::1", "fd00::".
  /// Returns 0 if i is not the beginning of such an address.
  size_t address(size_t i) const {
    size_t end = i;
    bool gap = false, digit = false;
    for (; is_hex(ch(end)) || ch(end) == ':'; ++end) {
      gap |= ch(end) == ':' && ch(end + 1) == ':';
      digit |= is_digit(ch(end));
    }
    if (end > i + 1 && ch(end - 1) == ':' && ch(end - 2) != ':') --end;  // a punctuation mark
    return gap && digit && !is_alnum(ch(end)) ? end - i : 0;
  }

  bool begins_core(size_t i) const {
    const char c = ch(i);
    if (c == ':') return address(i) > 0;
    if (c == '[') {  // "[::1]:8080"
      const size_t size = address(i + 1);
      return size > 0 && ch(i + 1 + size) == ']' && ch(i + 2 + size) == ':' &&
             is_digit(ch(i + 3 + size));
    }
    if (c == '.' && i == 0 && ch(1) == '.' && ch(2) == '/') return true;  // "../image"
    if (c == '*')
      return count_ == 1 || is_digit(ch(i + 1)) || (ch(i + 1) == '.' && is_alnum(ch(i + 2)));
    if (c == '.' && i == 0 && ch(1) == '/') return true;  // "./run"
    if (c == '.') return is_alnum(ch(i + 1)) && (i == 0 || !has(".)", ch(i - 1)));
    if (c == '!') return ch(i + 1) == '=';
    if (c == '/' || c == '~' || c == '<' || c == '>' || c == '^') {
      return true;
    }
    if (c == '\'') return keeps_apostrophe(i);
    return is_alnum(c) || is_lead_sign(c);
  }
  /// Returns whether the apostrophe at i belongs to the word: "'90s", "'tis", "'n'".
  bool keeps_apostrophe(size_t i) const {
    if (is_digit(ch(i + 1))) return true;
    std::string word;
    for (size_t k = i + 1; is_letter(ch(k)) && word.size() < 8; ++k) word += ch(k);
    return listed(" n tis twas em cause til bout round ", lower(word));
  }
  bool ends_core(size_t i) const {
    const char c = ch(i);
    if (c == '\'') return i >= 2 && ch(i - 1) == 'n' && ch(i - 2) == '\'';  // 'n'
    if (c == '*') return count_ == 1;
    if (c == '/' && i == 1 && (ch(0) == 'w' || ch(0) == 'W')) return true;  // "w/" is "with"
    if (c == '-' || c == '/' || c == '~' || c == kEnDash) return !is_alnum(ch(i - 1)) && i > 0;
    return is_alnum(c) || is_trail_sign(c);
  }
  /// Returns the position of the mark in "20.-" and "20,-", where a dash stands for no cents; the
  /// number of characters if there is no such mark.
  size_t price_mark(size_t first) const {
    size_t at = first + 1;
    while (at < count_ && !(has(".,", ch(at)) && is_digit(ch(at - 1)) && is_dash(ch(at + 1)))) ++at;
    return std::min(at, count_);
  }
  /// Stores the brackets, quotes and marks before the core [first, last) and from `behind` on.
  void read_edges(Token& token, size_t first, size_t last, size_t behind) const {
    for (size_t i = 0; i < first; ++i) token.opens |= has("([{\x1F", ch(i));
    const bool call = ch(last) == '(' && ch(last + 1) == ')';  // "foo()"
    int dots = 0;
    for (size_t i = behind + (call ? 2 : 0); i < count_; ++i) {
      const char c = ch(i);
      dots += c == '.';
      // A hyphen at the end of a line divides a word; it is not a pause.
      const bool hyphen = c == '-' && i == last && i + 1 == count_ && last > 0;
      token.closes |= !hyphen && has(")]}\x1F-\x1E", c);
      if (i == last && c == '.') token.dotted = true;
      if (i == last && (c == '\'' || c == '"')) token.quote = c;
      if (i == last && (c == ')' || c == ']')) token.bracketed = true;
      if (has(kMarks, c) && (token.close == 0 || strength(c) > strength(token.close))) {
        token.close = c;
      }
    }
    token.ellipsis = dots >= 3;
  }

  const FoldedChar* chars_;
  size_t count_;
};

/// Returns the end of the run that begins at `from`: before white space, after a dash, after an
/// ellipsis between words ("well...maybe"), and after a comma or semicolon between words.
size_t run_end(const std::vector<FoldedChar>& text, size_t from) {
  const size_t most = std::min(text.size(), from + kMaxRun);
  size_t dots = 0, letters = 0;
  for (size_t at = from; at < most; ++at) {
    const char c = text[at].ch;
    if (c == ' ' || c == '\n') return at;
    const bool stop = (c == ',' || c == ';') && letters > 1 && letters == at - from;
    if (stop && at + 2 < most && is_letter(text[at + 1].ch) && is_letter(text[at + 2].ch))
      return at + 1;  // "one,two"
    letters += is_letter(c) ? 1 : 0;
    if (c == kPause) return at + 1;
    const bool behind_word = dots >= 3 && at > from + dots && is_letter(text[at - dots - 1].ch);
    const bool quote = (c == '"' || c == '\'') && at + 1 < most && is_letter(text[at + 1].ch);
    if (behind_word && (quote || is_letter(c))) return at;
    dots = c == '.' ? dots + 1 : 0;
  }
  return most;
}

/// Returns whether the token is an emoticon of letters and signs, which is not spoken.
bool is_emoticon(const FoldedChar* chars, size_t count) {
  if (count == 2 && chars[0].ch == 'x' && chars[1].ch == 'D') return true;
  if (count < 2 || count > 3 || !has(":;=", chars[0].ch)) return false;
  return (count == 2 || chars[1].ch == '-') && has("DPpOo3", chars[count - 1].ch);
}

/// Returns whether no mark separates two tokens.
bool are_joined(const Token& one, const Token& next) {
  return one.close == 0 && !one.closes && !next.opens;
}

/// Returns whether a group of a number has cents: "345,67".
bool has_cents(std::string_view group) {
  return group.size() == 6 && group[3] == ',' && all(group.substr(0, 3), is_digit) &&
         all(group.substr(4), is_digit);
}

/// Returns how many tokens from i on are groups of one number: "1 000 000", "10 000"; otherwise 1.
/// `before`: the token before i, or null. Telephone numbers and codes also have groups, so a number
/// must end with "000", have three groups, or be money.
size_t grouped_thousands(const std::vector<Token>& tokens, size_t i, const Token* before) {
  std::string_view first = tokens[i].core;
  while (!first.empty() && (is_currency_sign(first[0]) || first[0] == '-')) first.remove_prefix(1);
  if (first.size() > 3 || !all(first, is_digit) || first[0] == '0') return 1;
  const bool named =
      before != nullptr && are_joined(*before, tokens[i]) &&
      (is_digit(before->core.back()) || listed(word_lists().digit_cues, lower(before->core)));
  if (named) return 1;
  const auto digit_behind = [&](size_t last) {
    return last + 1 < tokens.size() && are_joined(tokens[last], tokens[last + 1]) &&
           is_digit(tokens[last + 1].core[0]);
  };
  size_t last = i;
  while (digit_behind(last) && tokens[last + 1].core.size() == 3 &&
         all(tokens[last + 1].core, is_digit))
    ++last;
  const bool cents = digit_behind(last) && has_cents(tokens[last + 1].core);
  if (cents) ++last;
  const bool round = last > i && tokens[last].core == "000";
  const bool money =
      last > i && (is_currency_sign(tokens[i].core[0]) ||  // "1 200 kr"
                   (last + 1 < tokens.size() && are_joined(tokens[last], tokens[last + 1]) &&
                    currency_of(tokens[last + 1].core) != nullptr));
  const bool whole = round || money || (last > i + 1 && first.size() < 3 && !cents);
  return !digit_behind(last) && whole ? last - i + 1 : 1;
}

/// Returns the tokens; groups of one number ("1 000 000") become one token: "1,000,000".
std::vector<Token> with_thousands(const std::vector<Token>& tokens) {
  std::vector<Token> out;
  for (size_t i = 0; i < tokens.size();) {
    const size_t used = grouped_thousands(tokens, i, i > 0 ? &tokens[i - 1] : nullptr);
    Token token = tokens[i + used - 1];  // with the last group's marks
    if (used > 1 && has_cents(token.core)) token.core[3] = '.';
    for (size_t k = i + used - 1; k-- > i;) token.core = tokens[k].core + ',' + token.core;
    token.begin = tokens[i].begin;
    token.opens = tokens[i].opens;
    token.starts_line = tokens[i].starts_line;
    out.push_back(std::move(token));
    i += used;
  }
  return out;
}

/// Returns the letters from `from` on, at most nine.
std::string word_at(const std::vector<FoldedChar>& text, size_t from) {
  std::string word;
  for (size_t i = from; i < text.size() && is_letter(text[i].ch) && word.size() < 9; ++i) {
    word += text[i].ch;
  }
  return word;
}

}  // namespace

Tokens tokenise(const std::vector<FoldedChar>& text) {
  std::vector<Token> tokens;
  bool line_start = true, quoted = false;
  for (size_t i = 0; i < text.size();) {
    if (text[i].ch == ' ' || text[i].ch == '\n') {
      line_start |= text[i].ch == '\n';
      ++i;
      continue;
    }
    const size_t end = run_end(text, i);
    Run run = Cutter(&text[i], end - i).cut();
    const bool face = is_emoticon(&text[i], end - i);
    // Marks at the beginning of a line: "> quoted", "* item", "[x] done".
    const std::string& core = run.token.core;
    const bool ticked = (core == "x" || core == "X") && run.token.opens && run.token.closes;
    const bool line_mark = line_start && (core == ">" || core == "*" || core == "+" || ticked);
    const auto quotes = std::count_if(text.begin() + static_cast<std::ptrdiff_t>(i),
                                      text.begin() + static_cast<std::ptrdiff_t>(end),
                                      [](const FoldedChar& c) { return c.ch == '"'; });
    run.token.in_quotes = quoted || (quotes > 1);
    run.token.starts_line = line_start;
    const bool inches =
        run.token.quote == '"' && !run.token.in_quotes && !core.empty() && is_digit(core.back());
    if (quotes % 2 == 1 && !inches) quoted = !quoted;
    i = end;
    if (face || line_mark) continue;
    // A sign, not a pause: "3 - 2", "10 – 12".
    const bool dash = run.token.core == "-" || run.token.core == std::string_view("\x1E");
    const bool counted =
        !tokens.empty() && tokens.back().close == 0 && any(tokens.back().core, is_digit);
    const bool timed = !tokens.empty() && (!half_day(tokens.back().core).empty() ||
                                           !time_word(tokens.back().core).empty());
    const size_t behind = i + 1 < text.size() && is_currency_sign(text[i + 1].ch) ? i + 2 : i + 1;
    const bool between = (counted || timed) && behind < text.size() && text[i].ch == ' ' &&
                         (is_digit(text[behind].ch) || !time_word(word_at(text, i + 1)).empty());
    const bool home = run.token.core == "~" && !tokens.empty() &&
                      listed(" cd ls cp mv ", lower(tokens.back().core));
    const bool key = core == "#" && !tokens.empty() &&
                     listed(" press hit enter dial then or and ", lower(tokens.back().core)) &&
                     i < text.size() && text[i].ch == ' ';
    if ((dash && between) || home || key) run.bare = run.token.closes = false;
    if (!run.bare) {
      line_start = false;
      tokens.push_back(std::move(run.token));
    } else if (!tokens.empty()) {  // separate punctuation belongs to the token before it
      Token& before = tokens.back();
      if (before.close == 0) before.close = run.token.close;
      before.closes |= run.token.opens || run.token.closes;
    }
  }
  return Tokens(with_known_forms(with_thousands(tokens)));
}

}  // namespace syrinx::english
