#include "text/english/fold.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "text/english/chars.h"
#include "text/english/currencies.h"
#include "text/english/markup.h"
#include "text/english/tables.h"
#include "text/english/word_lists.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace syrinx::english {
namespace {

struct Sign {
  char32_t code;
  std::string plain;
};

const std::vector<Sign>& characters() {
  static const auto kRows = table_rows<Sign>(tables::characters(), 1, 2, [](const Cells& c) {
    Sign sign{code_point_in(c[0]), c[1]};
    std::replace(sign.plain.begin(), sign.plain.end(), '_', ' ');
    return sign;
  });
  return kRows;
}

struct Entity {
  std::string name;
  char32_t code;
};

const std::vector<Entity>& entities() {
  static const auto kRows = table_rows<Entity>(tables::entities(), 2, 2, [](const Cells& c) {
    return Entity{c[0], code_point_in(c[1])};
  });
  return kRows;
}

constexpr std::array<std::string_view, 25> kGreek = {
    "alpha", "beta",   "gamma",   "delta", "epsilon", "zeta",    "eta",  "theta", "iota",
    "kappa", "lambda", "mu",      "nu",    "xi",      "omicron", "pi",   "rho",   "sigma",
    "sigma", "tau",    "upsilon", "phi",   "chi",     "psi",     "omega"};

bool is_greek(char32_t code) { return code >= 0x370 && code < 0x400; }
bool is_narrow_space(char32_t code) { return code == 0xA0 || code == 0x2009 || code == 0x202F; }
bool is_subscript_digit(char32_t code) { return code >= 0x2080 && code <= 0x2089; }
bool is_superscript(char32_t code) {
  return code == 0xB2 || code == 0xB3 || code == 0xB9 || (code >= 0x2070 && code <= 0x207F);
}
/// Returns whether a character has no width: a mark, a joiner, a variation selector.
bool is_invisible(char32_t code) {
  return (code >= 0x300 && code < 0x370) || (code >= 0x200B && code <= 0x200F) ||
         (code >= 0x202A && code <= 0x202E) || (code >= 0x2060 && code <= 0x2064) ||
         (code >= 0x20D0 && code < 0x2100) || (code >= 0xFE00 && code <= 0xFE0F) ||
         code == 0xFEFF || (code >= 0xE0000 && code < 0xE0200);
}

class Folder {
 public:
  explicit Folder(std::string_view text) : text_(text) { out_.reserve(text.size() + 8); }

  std::vector<FoldedChar> run() {
    while (at_ < text_.size()) {
      if (text_[at_] == '&' && entity()) continue;
      const CodePoint code = utf8_at(text_, at_);
      begin_ = static_cast<int64_t>(at_);
      at_ += code.size;
      put(code.valid ? code.value : U' ');
    }
    return std::move(out_);
  }

 private:
  bool entity();
  void put(char32_t code);
  void put_ascii(char c);
  void put_unlisted(char32_t code);
  void put_greek(char32_t code);
  bool put_in_place(char32_t code);
  bool put_heart();
  void put_minus();
  void put_arrow(std::string_view words);
  void write(std::string_view plain) {
    for (const char c : plain) out_.push_back({c, begin_, static_cast<int64_t>(at_)});
  }
  char last() const { return back(0); }
  /// Returns the folded character n positions before the last one.
  char back(size_t n) const { return n < out_.size() ? out_[out_.size() - 1 - n].ch : ' '; }
  /// Returns whether a number precedes the last n characters, with or without a space.
  bool counts(size_t n = 0) const {
    return is_digit(back(n)) || (back(n) == ' ' && is_digit(back(n + 1)));
  }
  /// Returns whether the last character, a slash, follows a number and some letters: "5 km/".
  bool is_unit_slash() const {
    size_t n = 1;
    while (n < 6 && (is_letter(back(n)) || back(n) == kDegree || back(n) == '^')) ++n;
    return n > 1 && counts(n);
  }
  bool at_edge() const {
    return std::string_view(" \n(\"'").find(last()) != std::string_view::npos;
  }
  char last_written() const;
  /// Returns whether the folded text ends with `end`, whose first letter may have any case.
  bool follows(std::string_view end) const {
    return out_.size() >= end.size() &&
           std::equal(end.begin() + 1, end.end(), out_.end() - static_cast<long>(end.size()) + 1,
                      [](char c, const FoldedChar& folded) { return c == folded.ch; });
  }
  char32_t next() const { return at_ < text_.size() ? utf8_at(text_, at_).value : 0; }
  /// Returns whether exactly three digits follow, as in a group of a large number.
  bool group_follows() const {
    const auto digit = [&](size_t i) { return i < text_.size() && is_digit(text_[i]); };
    return digit(at_) && digit(at_ + 1) && digit(at_ + 2) && !digit(at_ + 3);
  }

  std::string_view text_;
  size_t at_ = 0;
  int64_t begin_ = 0;
  char32_t before_ = 0;  ///< last code point that was folded
  bool mass_ = false;    ///< whether superscripts begin a word: a number of mass, "¹⁴C"
  bool heart_ = false;  ///< whether the text has a heart, "<3", so that another one is a heart, too
  std::vector<FoldedChar> out_;
};

/// Reads an entity, "&amp;", "&#39;", "&#x27;", and moves at_ after it.
bool Folder::entity() {
  const size_t end = text_.substr(at_, 12).find(';');
  if (end == std::string_view::npos || end < 3) return false;
  const std::string_view name = text_.substr(at_ + 1, end - 1);
  char32_t code = 0;
  if (name[0] == '#') {
    const bool hex = name.size() > 2 && (name[1] == 'x' || name[1] == 'X');
    for (const char c : name.substr(hex ? 2 : 1)) {
      const char small = is_upper(c) ? static_cast<char>(c + 32) : c;
      const bool known = is_digit(c) || (hex && small >= 'a' && small <= 'f');
      if (!known || code > 0x10FFFF) return false;
      code =
          code * (hex ? 16 : 10) + static_cast<char32_t>(is_digit(c) ? c - '0' : small - 'a' + 10);
    }
    if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) code = U' ';
  } else {
    const auto known = std::find_if(entities().begin(), entities().end(),
                                    [name](const Entity& e) { return e.name == name; });
    if (known == entities().end()) return false;
    code = known->code;
  }
  begin_ = static_cast<int64_t>(at_);
  at_ += end + 1;
  const size_t first = out_.size();
  put(code);
  for (size_t i = first; i < out_.size(); ++i) out_[i].literal = true;
  return true;
}

void Folder::put(char32_t code) {
  const char32_t before = before_;
  if (!is_invisible(code)) before_ = code;
  if (code >= 0x20 && code < 0x7F) {
    const char c = static_cast<char>(code);
    if (is_subscript_digit(before) && is_digit(c)) write(" ");    // "log₂8"
    if (std::exchange(mass_, false) && is_letter(c)) write(" ");  // "¹⁴C"
    put_ascii(c);
  } else if (code == '\n' || code == 0x85 || code == 0x2028 || code == 0x2029) {
    write("\n");
  } else if (code < 0xA0) {
    write(" ");
  } else if (code == 0xA9 && follows("copyright ")) {
    write(" ");
  } else if (code == 0xBA && (last() == 'N' || last() == 'n') && !is_alnum(back(1))) {  // "Nº 5"
    out_.pop_back();
    write("number ");
  } else if ((code == 0xA7 || code == 0xB6) && next() == code) {  // "§§ 12-14", "¶¶ 3-5"
    at_ += utf8_at(text_, at_).size;
    write(code == 0xA7 ? " sections " : " paragraphs ");
  } else if (is_narrow_space(code)) {
    if (!is_digit(last()) || !group_follows()) write(" ");
  } else if (is_superscript(code)) {
    const auto letters = std::find_if(out_.rbegin(), out_.rend(),
                                      [](const FoldedChar& c) { return !is_letter(c.ch); }) -
                         out_.rbegin();
    const bool behind_mark = std::string_view(".,;:!?\"'").find(last()) != std::string_view::npos;
    if (letters > 3 || behind_mark) return;  // a footnote
    const bool sign = code == 0x207A || code == 0x207B;
    if (sign && !is_superscript(before) && !is_superscript(next())) {  // "Na⁺"
      return write(code == 0x207A ? " plus " : " minus ");
    }
    if (!is_superscript(before)) {
      mass_ = before == 0 || before == ' ' || before == '\n' || before == '(';
      if (!mass_) write("^");
    }
    put_unlisted(code);
  } else if (put_in_place(code)) {
    return;
  } else if (is_greek(code)) {
    put_greek(code);
  } else {
    put_unlisted(code);
  }
}

void Folder::put_ascii(char c) {
  const auto ch = [&](size_t i) { return i < text_.size() ? text_[i] : ' '; };
  // In "left--but", two hyphens are a dash.
  const bool after_word = is_letter(last()) || std::string_view(".,;:!?'\")").find(last()) < 9;
  if (c == '-' && ch(at_) == '-' && after_word && (is_letter(ch(at_ + 1)) || ch(at_ + 1) == '"')) {
    ++at_;
    return write({&kPause, 1});
  }
  // The sign of an amount ("~5", "<$5") becomes a word, so that the amount stays one token.
  const bool edge = last() == ' ' || last() == '\n' || last() == '(';
  const bool amount = edge && (is_digit(ch(at_)) || ch(at_) == '$');
  if (c == '<' && edge && ch(at_) == '3' && put_heart()) return;
  const bool told = follows("about ") || follows("around ") || follows("approximately ");
  if (amount && c == '~') return write(told ? "" : " about ");
  if (amount && c == '<') return write(" less than ");
  if (amount && c == '>') return write(" greater than ");
  if (c == ' ' && last() == '/' && is_unit_slash()) return;
  // A degree sign between spaces: "8 ° C".
  if ((c == 'C' || c == 'F') && last() == ' ' && back(1) == kDegree && !is_alnum(ch(at_))) {
    out_.pop_back();
  }
  write({&c, 1});
}

/// Reads "<3" as a verb in "I <3 you"; skips it after words like "thanks" and after a sentence.
/// Returns false for a comparison: "values <3".
bool Folder::put_heart() {
  const auto ch = [&](size_t i) { return i < text_.size() ? text_[i] : ' '; };
  const char behind = ch(at_ + 1);
  const bool pointed = std::string_view(".,:").find(behind) < 3 && is_digit(ch(at_ + 2));
  if (pointed || std::string_view(" \n.,!?;:)\"").find(behind) > 9) return false;
  std::string word;
  for (size_t n = 0; n < out_.size() && word.size() < 12; ++n) {
    if (is_letter(back(n))) {
      word.insert(word.begin(), back(n));
    } else if (!word.empty() || (back(n) != ' ' && back(n) != '\n')) {
      break;
    }
  }
  word = lower(word);
  const bool ends = word.empty() && std::string_view("!?.)").find(last_written()) < 4;
  const bool condition = word == "i" && (follows("if i ") || follows("while i "));  // of a program
  const bool verb = is_letter(ch(at_ + 2)) && !ends && !condition &&
                    (word.empty() || listed(" i we they ", word));
  if (!verb && !ends && !heart_ && !listed(word_lists().heart_words, word)) return false;
  heart_ = true;
  ++at_;
  write(verb ? " love " : " ");
  return true;
}

/// Returns the last folded character that is not white space, or a space if all are white.
char Folder::last_written() const {
  const auto found = std::find_if(out_.rbegin(), out_.rend(),
                                  [](const FoldedChar& c) { return c.ch != ' ' && c.ch != '\n'; });
  return found == out_.rend() ? ' ' : found->ch;
}

/// Writes a character whose meaning depends on its neighbours. Returns false for other characters.
bool Folder::put_in_place(char32_t code) {
  constexpr char32_t kOhm = 0x2126, kOmega = 0x3A9;
  if (const char currency = currency_byte(code); currency != 0) {
    write({&currency, 1});
    return true;
  }
  const auto byte = [](char32_t one) { return one < 0x80 ? static_cast<char>(one) : ' '; };
  const bool letter = is_letter(byte(next()));
  switch (code) {
    case 0xB5:
    case 0x3BC:
      if (!counts() || !(letter || next() == kOhm || next() == kOmega)) return false;
      write({&kMicro, 1});
      return true;
    case 0xB7:
      write(is_alnum(last()) && letter ? std::string_view(&kDot, 1) : " ");
      return true;
    case kOhm:
    case kOmega: {
      const bool prefixed =
          std::string_view("kMGm\xB5").find(last()) != std::string_view::npos && counts(1);
      if (counts() || prefixed) {
        write("Ohm");
        return true;
      }
      if (code == kOhm) write(" ohms ");
      return code == kOhm;
    }
    case 0x2012:
    case 0x2013: {
      const bool figure = is_digit(byte(next())) || next() == '$' || currency_byte(next()) != 0;
      const bool sign = figure && at_edge() && !is_digit(last_written());
      write(sign ? "-" : code == 0x2013 ? "\x1E" : "-");
      return true;
    }
    case 0x2212:
      put_minus();
      return true;
    case 0x2192:
      put_arrow(" to ");
      return true;
    case 0x21D2:
      put_arrow(" implies ");
      return true;
    default:
      return false;
  }
}

/// Writes the sign of a number, or the sign between two numbers.
void Folder::put_minus() {
  const char before = last_written();
  const bool operand = is_alnum(before) || before == ')' || before == '%' || before == kDegree;
  const bool blank_before = last() == ' ', blank_after = next() == ' ';
  const auto year = [](std::string_view text) {
    return text.size() >= 4 && all(text.substr(0, 4), is_digit) &&
           !(text.size() > 4 && is_digit(text[4]));
  };
  const bool years = is_digit(back(0)) && is_digit(back(1)) && is_digit(back(2)) &&
                     is_digit(back(3)) && !is_digit(back(4)) && year(text_.substr(at_));
  if (years) return write("-");  // "2024−2025"
  const auto ends_in = [this](std::string_view zone) {
    return back(0) == zone[2] && back(1) == zone[1] && back(2) == zone[0];
  };
  if (ends_in("UTC") || ends_in("GMT")) return write("-");
  const bool figures =
      is_digit(last()) || is_digit(next() < 0x80 ? static_cast<char>(next()) : ' ');
  const bool between = operand && next() != 0 && blank_before == blank_after;
  write(between && (blank_before || figures) ? " minus " : "-");
}

/// Writes words for an arrow between words; writes nothing at the beginning or end of a line.
void Folder::put_arrow(std::string_view words) {
  const auto mark = [](char c) {
    return std::string_view(" \x1F-*>").find(c) != std::string_view::npos;
  };
  auto first = out_.rbegin();
  while (first != out_.rend() && mark(first->ch)) ++first;
  const bool begins = first == out_.rend() || first->ch == '\n';
  const std::string_view rest = text_.substr(at_, text_.find('\n', at_) - at_);
  const bool ends = rest.find_first_not_of(" .,;:!?)\"") == std::string_view::npos;
  write(begins || ends ? " " : words);
}

/// Writes one or two Greek letters by their names, as symbols. Skips longer runs of Greek letters,
/// which are foreign words.
void Folder::put_greek(char32_t code) {
  size_t letters = 1;
  for (size_t at = at_; at < text_.size() && letters < 3; ++letters) {
    const CodePoint one = utf8_at(text_, at);
    if (!is_greek(one.value)) break;
    at += one.size;
  }
  for (auto at = static_cast<size_t>(begin_); at > 0 && letters < 3; ++letters) {
    // A Greek letter has two bytes. Characters that are not Greek end the run.
    if (at < 2 || !is_greek(utf8_at(text_, at - 2).value)) break;
    at -= 2;
  }
  const bool small = code >= 0x3B1 && code <= 0x3C9;
  const bool large = code >= 0x391 && code <= 0x3A9;
  if (letters > 2 || (!small && !large)) return write(" ");
  const bool micro = code == 0x3BC && (is_digit(last()) || last() == ' ') && next() < 0x80 &&
                     is_letter(static_cast<char>(next()));
  if (micro) return write("u");
  write(" ");
  write(kGreek[code - (small ? 0x3B1 : 0x391)]);
  write(" ");
}

void Folder::put_unlisted(char32_t code) {
  const auto sign = std::find_if(characters().begin(), characters().end(),
                                 [code](const Sign& s) { return s.code == code; });
  if (sign != characters().end()) return write(sign->plain);
  if (is_invisible(code)) {
    const bool accent = code >= 0x300 && code < 0x370;  // accent of the letter before it
    if (accent && !out_.empty() && out_.back().end == begin_)
      out_.back().end = static_cast<int64_t>(at_);
    return;
  }
  if (code == 0xB5) return write("u");
  std::string one;
  utf8_append(one, code);
  const std::string plain = normalize(one, NormalForm::kNfkd);
  if (plain == one) return write(" ");
  const bool fraction = plain.find("\u2044") != std::string::npos;
  if (fraction && is_digit(last())) write(" ");
  for (size_t at = 0; at < plain.size();) {
    const CodePoint part = utf8_at(plain, at);
    at += part.size;
    if (part.value < 0x80) {
      const char c = static_cast<char>(part.value);
      write({&c, 1});
    } else if (part.value == 0x2044) {
      write("/");
    } else if (part.value == 0x2212) {
      write("-");
    } else if (part.value != code && (is_greek(part.value) || !is_invisible(part.value))) {
      write(" ");
    }
  }
}

}  // namespace

std::vector<FoldedChar> fold(std::string_view utf8) { return strip_markup(Folder(utf8).run()); }

}  // namespace syrinx::english
