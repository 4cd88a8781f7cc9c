#include "text/english/markup.h"

#include <string>
#include <string_view>

#include "text/english/chars.h"

namespace syrinx::english {
namespace {

constexpr size_t kMaxTag = 400;      // characters
constexpr size_t kMaxTarget = 2000;  // of a link
constexpr size_t kMaxStrong = 120;   // characters between the stars of *emphasis*

constexpr std::string_view kTags =
    " a abbr article aside audio b big blockquote body br break button center cite code dd del div"
    " dl dt em emphasis figure font footer form h1 h2 h3 h4 h5 h6 head header hr html i iframe img"
    " input ins kbd label li link main mark meta nav ol option p pre prosody q s samp say-as script"
    " section select small source span speak strike strong style sub summary sup svg table tbody td"
    " textarea tfoot th thead title tr tt u ul var video voice ";

class Stripper {
 public:
  explicit Stripper(const std::vector<FoldedChar>& text) : text_(text) {}

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
  /// Characters of markup at at_, what they mean already written; 0 for none.
  size_t marks();
  size_t tag() const;
  size_t link_target() const;
  size_t footnote() const;
  size_t emphasis() const;
  void write(char c) { out_.push_back({c, text_[at_].begin, text_[at_].end}); }

  const std::vector<FoldedChar>& text_;
  size_t at_ = 0;
  size_t strong_to_ = 0;  // where the star stands that ends an emphasis
  std::vector<FoldedChar> out_;
};

size_t Stripper::marks() {
  const char c = ch(at_), next = ch(at_ + 1);
  size_t run = 1;
  switch (c) {
    case '<':
      run = tag();
      if (run > 0) write(' ');
      return run;
    case ']':
      return next == '(' ? link_target() : 0;
    case '[':
      return footnote();
    case '`':
      while (ch(at_ + run) == '`') ++run;
      if (run >= 3) {  // a fence, and the language after it
        while (at_ + run < text_.size() && ch(at_ + run) != ' ' && ch(at_ + run) != '\n') ++run;
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
      if (between && c == '*' && run == 2) {  // "10**6"
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
      return 0;
  }
}

/// "<b>", "</p>", "<br/>", "<a href=...>"; but not "a <b and c> d".
size_t Stripper::tag() const {
  size_t i = at_ + 1;
  if (ch(i) == '!' && ch(i + 1) == '-' && ch(i + 2) == '-') {  // a comment
    for (i += 3; i < std::min(text_.size(), at_ + kMaxTag); ++i) {
      if (ch(i) == '>' && ch(i - 1) == '-') return i + 1 - at_;
    }
    return 0;
  }
  const bool closing = ch(i) == '/';
  if (closing) ++i;
  std::string name;
  while (name.size() < 12 && (is_alnum(ch(i)) || (ch(i) == '-' && !name.empty()))) {
    name += ch(i++);
  }
  if (!listed(kTags, lower(name))) return 0;
  bool attributes = false;
  const size_t rest = i;
  for (; i < std::min(text_.size(), at_ + kMaxTag); ++i) {
    if (ch(i) == '<') return 0;
    attributes |= ch(i) == '=';
    if (ch(i) != '>') continue;
    const bool bare = i == rest || (i <= rest + 2 && ch(i - 1) == '/');
    return bare || attributes ? i + 1 - at_ : 0;
  }
  return 0;
}

/// Where the star stands that ends the *emphasis* which one begins here; 0 where none does.
size_t Stripper::emphasis() const {
  const auto is_quote = [](char c) { return c == '"' || c == '\''; };
  const auto joins = [](char c) { return is_alnum(c) || c == '*' || c == '/'; };
  if (joins(last()) || !(is_letter(ch(at_ + 1)) || is_quote(ch(at_ + 1)))) return 0;
  for (size_t i = at_ + 2; i < std::min(text_.size(), at_ + kMaxStrong) && ch(i) != '\n'; ++i) {
    if (ch(i) == '*') return ch(i - 1) == ' ' || joins(ch(i + 1)) ? 0 : i;
  }
  return 0;
}

/// "](target)" of a link, up to the bracket that closes it; only on one line.
size_t Stripper::link_target() const {
  int depth = 0;
  for (size_t i = at_ + 1; i < std::min(text_.size(), at_ + kMaxTarget) && ch(i) != '\n'; ++i) {
    depth += ch(i) == '(' ? 1 : ch(i) == ')' ? -1 : 0;
    if (depth == 0) return i + 1 - at_;
  }
  return 0;
}

/// "[12]" right after a word, "[^1]". "[0]" counts elements, so it is no footnote.
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

}  // namespace

std::vector<FoldedChar> strip_markup(std::vector<FoldedChar> text) { return Stripper(text).run(); }

}  // namespace syrinx::english
