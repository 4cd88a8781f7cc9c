#include "text/english/markup.h"

#include <string>
#include <string_view>

#include "text/english/chars.h"
#include "text/english/numbers.h"
#include "text/english/tags.h"
#include "text/english/tex.h"
#include "text/english/word_lists.h"
#include "text/sentence_rules.h"

namespace syrinx::english {
namespace {

constexpr size_t kMaxTarget = 2000;  // most characters of a link's target
constexpr size_t kMaxStrong = 120;   // most characters between the stars of *emphasis*
constexpr size_t kMaxCode = 200;     // most characters of `code`
constexpr size_t kMaxScript = 40;    // most raised or lowered characters
constexpr size_t kMaxFormula = 600;  // most characters of a formula

class Stripper {
 public:
  explicit Stripper(const std::vector<FoldedChar>& text) : text_(text) {
    written_.reserve(text.size());
    for (const FoldedChar& c : text) written_ += c.ch;
    plain_ = written_;
  }

  std::vector<FoldedChar> run() {
    out_.reserve(text_.size());
    while (at_ < text_.size()) {
      const size_t skip = marks();
      if (skip == 0) {
        out_.push_back(text_[at_]);
        out_.back().strong = at_ < strong_to_;
      }
      at_ += skip == 0 ? 1 : skip;
    }
    return std::move(out_);
  }

 private:
  char ch(size_t i) const { return i < text_.size() ? text_[i].ch : ' '; }
  char last() const { return out_.empty() ? ' ' : out_.back().ch; }
  /// Processes markup at at_ and writes its meaning. Returns the number of its characters, or 0 if
  /// at_ is not the beginning of markup.
  size_t marks();
  size_t tag();
  size_t shown_tag();
  size_t script(bool raised, size_t from);
  size_t formula();
  bool is_menu() const;
  size_t link_target() const;
  size_t footnote() const;
  size_t footnote_number() const;
  size_t emphasis() const;
  void write(char c) { out_.push_back({c, text_[at_].begin, text_[at_].end}); }
  void write_words(std::string_view words, size_t at) {
    for (const char c : words) out_.push_back({c, text_[at].begin, text_[at].end});
  }

  const std::vector<FoldedChar>& text_;
  std::string written_;
  std::string_view plain_;  // the characters of the text, without their positions
  size_t at_ = 0;
  size_t strong_to_ = 0;  // position of the star that ends the present emphasis
  size_t code_to_ = 0;    // position after the mark that ends the present `code`
  size_t shown_to_ = 0;   // position of the last character of a tag that is read
  std::vector<FoldedChar> out_;
};

size_t Stripper::marks() {
  const char c = ch(at_), next = ch(at_ + 1);
  size_t run = 1;
  if (text_[at_].literal && c != '<' && c != '>') return 0;
  switch (c) {
    case '<':
      return text_[at_].literal || at_ < code_to_ ? shown_tag() : tag();
    case '>':
      if (at_ > 0 && at_ == shown_to_) {
        write(' ');
        return 1;
      }
      if (!is_menu()) return 0;
      write(kPause);
      return 1;
    case '$':
    case '\\':
      return formula();
    case ']':
      return next == '(' ? link_target() : 0;
    case '[':
      run = control_size(plain_, at_);
      return run > 0 ? run : footnote();
    case '`':
      while (ch(at_ + run) == '`') ++run;
      if (run >= 3) {  // a fence, and the language after it
        while (at_ + run < text_.size() && ch(at_ + run) != ' ' && ch(at_ + run) != '\n') ++run;
      } else if (at_ >= code_to_) {
        const size_t end = plain_.substr(at_ + run, kMaxCode).find_first_of("`\n");
        const bool closed = end != plain_.npos && plain_[at_ + run + end] == '`';
        if (closed) code_to_ = at_ + run + end + 1;
      }
      return run;
    case '*':
    case '_':
    case '~': {
      if (c == '*' && next != c) {
        if (at_ < strong_to_) return 0;
        strong_to_ = std::max(strong_to_, emphasis());
        return at_ < strong_to_ ? 1 : 0;
      }
      if (next != c) return 0;
      while (ch(at_ + run) == c) ++run;
      const char after = ch(at_ + run);
      const bool between = is_digit(last()) && is_digit(after);
      const bool variable = is_letter(last()) && (at_ < 2 || !is_alnum(ch(at_ - 2)));
      if ((between || (variable && is_digit(after))) && c == '*' && run == 2) {  // "10**6", "x**2"
        write('^');
        return run;
      }
      return between ? 0 : run;
    }
    case '|':
      if (next == '|' || last() == '|') return 0;
      write(kPause);
      return 1;
    default:
      return is_digit(c) ? footnote_number() : 0;
  }
}

/// Processes a tag and its effect on the text around it.
size_t Stripper::tag() {
  const Tag tag = tag_at(plain_, at_);
  switch (tag.kind) {
    case TagKind::kNone:
      return 0;
    case TagKind::kBlock:
      write(kPause);
      break;
    case TagKind::kRaised:
    case TagKind::kLowered:
      if (!tag.closing) return tag.size + script(tag.kind == TagKind::kRaised, at_ + tag.size);
      break;
    case TagKind::kHidden:
    case TagKind::kInline:
      write(' ');
      break;
  }
  return tag.size;
}

/// Processes the "<" of a tag that shall be spoken, as in "&lt;b&gt;" and in `<b>`.
size_t Stripper::shown_tag() {
  if (tag_at(plain_, at_).kind == TagKind::kNone) return 0;
  shown_to_ = plain_.find('>', at_);
  const bool closing = ch(at_ + 1) == '/';
  write_words(closing ? " slash " : " ", at_);
  return closing ? 2 : 1;
}

/// Writes raised or lowered characters from `from` on; returns their number.
size_t Stripper::script(bool raised, size_t from) {
  const size_t end = plain_.substr(from, kMaxScript).find('<');
  if (end == plain_.npos) return 0;
  const std::string_view inner = plain_.substr(from, end);
  const bool number = is_number(inner);
  const std::string small = lower(inner);
  if (raised) {
    size_t letters = 0;
    while (letters < out_.size() && is_letter(out_[out_.size() - 1 - letters].ch)) ++letters;
    const bool marked = inner.starts_with('[') || inner.starts_with('*') || small == "tm";
    if (marked || (number && (letters > 3 || !is_alnum(last())) && last() != ')')) return end;
    const bool ordinal = listed(" th st nd rd ", small);
    if (!ordinal && (number || inner.size() == 1)) write('^');
    if (!ordinal && !number && inner.size() > 1 && is_digit(last())) write('^');
  } else if (!number) {
    write(' ');
    if (inner.size() == 1) write_words("sub ", from);
  }
  return 0;
}

/// Writes the words of a TeX formula; other rules do not read these words again.
size_t Stripper::formula() {
  if (is_alnum(last()) || last() == '$') return 0;
  const TexFormula found = formula_at(plain_.substr(at_, kMaxFormula));
  if (found.size == 0) return 0;
  size_t behind = at_ + found.size;
  std::string words = found.words;
  const size_t hyphen = ch(behind) == '-' ? 1 : 0;
  if (words.size() == 1 && plain_.substr(behind + hyphen).starts_with("th") &&
      !is_alnum(ch(behind + hyphen + 2))) {
    words = words == "N" ? "nth" : words + " th";  // "$n$th", "$k$-th"
    behind += hyphen + 2;
  }
  for (const char c : words) {
    out_.push_back({c, text_[at_].begin, text_[behind - 1].end, false, true});
  }
  if (is_alnum(ch(behind))) write(' ');
  return behind - at_;
}

/// Returns the position of the star that closes the *emphasis* which the star at at_ opens. Returns
/// 0 if no star closes it.
size_t Stripper::emphasis() const {
  const auto is_quote = [](char c) { return c == '"' || c == '\''; };
  const auto joins = [](char c) { return is_alnum(c) || c == '*' || c == '/'; };
  if (joins(last()) || !(is_letter(ch(at_ + 1)) || is_quote(ch(at_ + 1)))) return 0;
  for (size_t i = at_ + 2; i < std::min(text_.size(), at_ + kMaxStrong) && ch(i) != '\n'; ++i) {
    if (ch(i) == '*') return ch(i - 1) == ' ' || joins(ch(i + 1)) ? 0 : i;
  }
  return 0;
}

/// Returns whether the ">" at at_ separates the names of menus: "File > Save As". The names have
/// capitals and more than one letter. Two words alone compare, unless the first names a menu.
bool Stripper::is_menu() const {
  if (last() != ' ' || ch(at_ + 1) != ' ' || !is_upper(ch(at_ + 2)) || !is_letter(ch(at_ + 3))) {
    return false;
  }
  size_t at = out_.size() - 1, letters = 0;
  for (; at > 0 && is_alnum(out_[at - 1].ch); --at) ++letters;
  size_t end = at_ + 2;
  while (is_alnum(ch(end))) ++end;
  const bool two_words = at == 0 && plain_.find_first_not_of(" .!?\n", end) == plain_.npos;
  const std::string first = two_words ? lower(plain_.substr(0, at_ - 1)) : std::string();
  if (two_words && !listed(word_lists().menus, first)) return false;  // "Quality > Quantity"
  return letters > 1 && is_upper(out_[at].ch);
}

/// Returns the length of "](target)" of a link, up to its closing bracket on the same line.
size_t Stripper::link_target() const {
  int depth = 0;
  for (size_t i = at_ + 1; i < std::min(text_.size(), at_ + kMaxTarget) && ch(i) != '\n'; ++i) {
    depth += ch(i) == '(' ? 1 : ch(i) == ')' ? -1 : 0;
    if (depth == 0) return i + 1 - at_;
  }
  return 0;
}

/// Returns the length of a footnote mark: "[12]" directly after a word, "[^1]". "[0]" counts
/// elements, so it is not a footnote.
size_t Stripper::footnote() const {
  size_t i = at_ + 1;
  if (ch(i) == '^') {
    while (is_alnum(ch(i + 1)) && i < at_ + 12) ++i;
    return i > at_ + 1 && ch(i + 1) == ']' ? i + 2 - at_ : 0;
  }
  while (is_digit(ch(i)) && i <= at_ + 3) ++i;
  const bool digits = i > at_ + 1 && ch(at_ + 1) != '0';
  return digits && ch(i) == ']' && (is_letter(last()) || last() == '.') ? i + 1 - at_ : 0;
}

/// Returns the length of a footnote's number after the last mark of the sentence: "powder.1".
size_t Stripper::footnote_number() const {
  size_t end = at_, from = out_.size();
  while (is_digit(ch(end)) && end < at_ + 3) ++end;
  bool small = end < at_ + 3;
  while (small && (ch(end) == ',' || kDashes.find(ch(end)) != kDashes.npos) &&
         is_digit(ch(end + 1))) {  // "powder.2,3"
    const size_t next = end + 1;
    for (end = next; is_digit(ch(end)); ++end) small = small && end < next + 2;
  }
  if (!small || plain_.find_first_not_of(" \n", end) != plain_.npos) return 0;
  while (from > 0 && (out_[from - 1].ch == '"' || out_[from - 1].ch == ')')) --from;
  if (from == 0 || out_[--from].ch != '.') return 0;
  std::string word;
  while (from > 0 && is_letter(out_[from - 1].ch)) word.insert(0, 1, out_[--from].ch);
  if (from == 0 || !may_have_footnote(word)) return 0;
  const char before = out_[from - 1].ch;  // a digit or a full stop: "1.0.0-beta.2", "access.log.1"
  const bool compound = before == '-' && from > 1 && is_letter(out_[from - 2].ch);
  const bool apart = before == ' ' || before == '\n' || before == '"' || before == '(';
  return compound || apart || before == kPause ? end - at_ : 0;
}

}  // namespace

std::vector<FoldedChar> strip_markup(const std::vector<FoldedChar>& text) {
  return Stripper(text).run();
}

}  // namespace syrinx::english
