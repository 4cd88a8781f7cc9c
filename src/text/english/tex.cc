#include "text/english/tex.h"

#include <algorithm>
#include <vector>

#include "text/english/chars.h"
#include "text/english/numbers.h"
#include "text/english/tables.h"
#include "text/english/word_lists.h"

namespace syrinx::english {
namespace {

constexpr int kMaxDepth = 16;  // most levels of nested groups

enum class TexKind {
  kWords,     ///< reads the words of the command
  kAccent,    ///< reads the argument, then the words: "\hat{x}"
  kBefore,    ///< reads the words, then the argument: "\vec{v}"
  kText,      ///< reads the argument as text
  kGroup,     ///< reads only the argument: "\mathbf{x}"
  kFraction,  ///< reads a fraction of two arguments
  kChoose,    ///< reads two arguments with "choose" between them: "\binom{n}{k}"
  kRoot,
  kBounded,  ///< reads "from" and "to" with the limits below and above
  kLimit,    ///< reads "as" with the limit below
  kSkip,     ///< reads nothing, not even the argument: "\begin{matrix}"
};

struct TexCommand {
  std::string name, words;
  TexKind kind = TexKind::kWords;
};

/// The commands of TeX. Unlisted commands are read by their names: Greek letters, "\max".
const std::vector<TexCommand>& tex_commands() {
  static const auto kRows =
      table_rows<TexCommand>(tables::tex_commands(), 1, 3, [](const Cells& c) {
        const size_t kind =
            c[2].empty() ? 0
                         : choice(c[2], {"words", "accent", "before", "text", "group", "fraction",
                                         "choose", "root", "bounded", "limit", "skip"});
        return TexCommand{c[0], c[1], static_cast<TexKind>(kind)};
      });
  return kRows;
}

struct TexSign {
  char sign;
  std::string words;
};

const std::vector<TexSign>& tex_signs() {
  static const auto kRows = table_rows<TexSign>(tables::tex_signs(), 2, 2, [](const Cells& c) {
    return TexSign{c[0][0], c[1]};
  });
  return kRows;
}

const TexCommand* command_of(std::string_view name) {
  const auto it = std::find_if(tex_commands().begin(), tex_commands().end(),
                               [name](const TexCommand& c) { return c.name == name; });
  return it == tex_commands().end() ? nullptr : &*it;
}

bool is_plain_number(std::string_view tex) { return !tex.empty() && is_digits(tex, 1, 4); }

class TexReader {
 public:
  TexReader(std::string_view tex, int depth) : tex_(tex), depth_(depth) {}

  std::string run() {
    std::string out;
    while (at_ < tex_.size()) add(out, atom());
    return out;
  }

 private:
  char ch(size_t i) const { return i < tex_.size() ? tex_[i] : ' '; }
  void skip_blanks() {
    while (at_ < tex_.size() && (tex_[at_] == ' ' || tex_[at_] == '\n')) ++at_;
  }
  std::string inner(std::string_view tex) const {
    return depth_ < kMaxDepth ? TexReader(tex, depth_ + 1).run() : std::string();
  }
  std::string_view bracketed(char open, char close);
  std::string_view argument();
  std::string atom();
  std::string command();
  std::string scripted(std::string words);
  std::string root();
  std::string fraction();
  std::string bounded(const TexCommand& command);

  std::string_view tex_;
  int depth_;
  size_t at_ = 0;
};

/// Returns the text between the brackets at at_ and moves at_ after them; "" without a bracket.
std::string_view TexReader::bracketed(char open, char close) {
  if (ch(at_) != open) return {};
  int level = 0;
  const size_t begin = at_ + 1;
  for (; at_ < tex_.size(); ++at_) {
    level += tex_[at_] == open ? 1 : tex_[at_] == close ? -1 : 0;
    if (level == 0) return tex_.substr(begin, at_++ - begin);
  }
  return tex_.substr(std::min(begin, tex_.size()));
}

/// Returns the argument at at_: a group, a command or one character.
std::string_view TexReader::argument() {
  skip_blanks();
  if (ch(at_) == '{') return bracketed('{', '}');
  const size_t begin = at_;
  if (at_ < tex_.size()) ++at_;
  if (ch(begin) == '\\') {
    while (is_letter(ch(at_))) ++at_;
  }
  return tex_.substr(begin, at_ - begin);
}

std::string TexReader::atom() {
  const char c = ch(at_);
  if (c == '\\') return command();
  if (c == '{') return scripted(inner(bracketed('{', '}')));
  if (c == '^' || c == '_') return scripted({});
  if (is_digit(c)) {
    const size_t size = number_length(tex_.substr(at_));
    at_ += size;
    return scripted(cardinal_words(tex_.substr(at_ - size, size)));
  }
  if (is_letter(c)) {
    size_t end = at_;
    while (is_letter(ch(end))) ++end;
    const std::string_view word = tex_.substr(at_, end - at_);
    if (word.size() > 1 && listed(word_lists().tex_words, word)) {
      at_ = end;
      return scripted(std::string(word));
    }
    ++at_;
    return scripted(std::string(1, to_upper(c)));
  }
  ++at_;
  if (c == ')' || c == ']') return scripted({});
  for (const std::string_view two : {"<=", ">=", "!="}) {
    if (tex_.substr(at_ - 1).starts_with(two)) {
      ++at_;
      return two == "<="   ? "less than or equal to"
             : two == ">=" ? "greater than or equal to"
                           : "is not equal to";
    }
  }
  const auto sign = std::find_if(tex_signs().begin(), tex_signs().end(),
                                 [c](const TexSign& s) { return s.sign == c; });
  return sign == tex_signs().end() ? std::string() : std::string(sign->words);
}

/// Reads powers and indices after `words`.
std::string TexReader::scripted(std::string words) {
  for (;;) {
    skip_blanks();
    const char c = ch(at_);
    if (c != '^' && c != '_') return words;
    ++at_;
    const std::string_view tex = argument();
    if (c == '_') {
      const std::string below = inner(tex);
      if (!below.empty()) add(words, "sub " + below);
      continue;
    }
    const std::string power = inner(tex);
    if (tex == "2") {
      add(words, "squared");
    } else if (tex == "3") {
      add(words, "cubed");
    } else if (power == "degrees" || power == "prime" || tex == "*") {
      add(words, tex == "*" ? "star" : power);
    } else if (tex == "T" || tex == "\\top") {
      add(words, "transpose");
    } else if (!power.empty()) {
      add(words, "to the " + power);
    }
  }
}

std::string TexReader::command() {
  ++at_;
  const size_t begin = at_;
  while (is_letter(ch(at_))) ++at_;
  const std::string_view name = tex_.substr(begin, at_ - begin);
  if (name.empty()) {  // "\,", "\\", "\{", "\%"
    const char sign = ch(at_);
    at_ += at_ < tex_.size() ? 1 : 0;
    return sign == '%' ? "percent" : sign == '$' ? "dollars" : sign == '&' ? "and" : "";
  }
  const TexCommand* known = command_of(name);
  if (known == nullptr) return scripted(lower(name));
  switch (known->kind) {
    case TexKind::kWords:
      return scripted(std::string(known->words));
    case TexKind::kAccent:
      return scripted(inner(argument()) + ' ' + std::string(known->words));
    case TexKind::kBefore:
      return scripted(std::string(known->words) + ' ' + inner(argument()));
    case TexKind::kGroup:
      return scripted(inner(argument()));
    case TexKind::kText: {
      std::string words;
      for (const char c : argument()) words += is_letter(c) || c == '\'' ? c : ' ';
      return scripted(words.size() == 1 ? std::string(1, to_upper(words[0])) : words);
    }
    case TexKind::kFraction:
      return scripted(fraction());
    case TexKind::kChoose: {
      const std::string top = inner(argument());
      return scripted(top + " choose " + inner(argument()));
    }
    case TexKind::kRoot:
      return scripted(root());
    case TexKind::kBounded:
    case TexKind::kLimit:
      return bounded(*known);
    case TexKind::kSkip:
      argument();
      return {};
  }
  return {};
}

std::string TexReader::root() {
  skip_blanks();
  const std::string_view degree = bracketed('[', ']');
  const std::string radicand = inner(argument());
  if (degree.empty() || degree == "2") return "square root of " + radicand;
  if (degree == "3") return "cube root of " + radicand;
  const std::string words =
      is_plain_number(degree) ? ordinal_words(value_of(degree)) : inner(degree) + " th";
  return words + " root of " + radicand;
}

std::string TexReader::fraction() {
  const std::string_view top = argument(), bottom = argument();
  if (is_plain_number(top) && is_plain_number(bottom) && value_of(bottom) > 0) {
    return fraction_words(value_of(top), value_of(bottom));
  }
  return inner(top) + " over " + inner(bottom);
}

/// Reads "\sum_{i=1}^{n}", "\lim_{x \to 0}".
std::string TexReader::bounded(const TexCommand& command) {
  std::string words(command.words);
  for (;;) {
    skip_blanks();
    if (tex_.substr(at_).starts_with("\\limits")) at_ += 7;
    const char c = ch(at_);
    if (c != '_' && c != '^') break;
    ++at_;
    const std::string bound = inner(argument());
    add(words, c == '^' ? "to" : command.kind == TexKind::kLimit ? "as" : "from");
    add(words, bound);
  }
  add(words, "of");
  return words;
}

/// Returns whether the text between two dollars is a formula: it has no word without a backslash,
/// and it has either a sign or few letters and digits.
bool is_formula(std::string_view tex) {
  if (tex.empty() || tex.front() == ' ' || tex.back() == ' ') return false;
  bool sign = false, some = false;
  size_t run = 0;
  for (size_t i = 0; i < tex.size(); ++i) {
    const char c = tex[i];
    some |= is_alnum(c) || c == '\\';
    sign |= std::string_view("\\^_=<>{").find(c) != std::string_view::npos;
    if (c == '\\') {  // a command and its braces may contain words
      while (i + 1 < tex.size() && is_letter(tex[i + 1])) ++i;
      run = 0;
      if (i + 1 < tex.size() && tex[i + 1] == '{') {
        while (i + 1 < tex.size() && tex[i + 1] != '}') ++i;
      }
      continue;
    }
    run = is_letter(c) ? run + 1 : 0;
    if (run > 3) {
      size_t begin = i + 1 - run, end = i + 1;
      while (end < tex.size() && is_letter(tex[end])) ++end;
      if (!listed(word_lists().tex_words, tex.substr(begin, end - begin))) return false;
      i = end - 1;
      run = 0;
    }
  }
  return some && (sign || tex.size() < 24);
}

TexFormula between(std::string_view text, std::string_view open, std::string_view close) {
  const size_t end = text.find(close, open.size());
  if (end == text.npos) return {};
  const std::string_view tex = text.substr(open.size(), end - open.size());
  if (tex.find_first_not_of(" \n") == tex.npos) return {};
  return {end + close.size(), formula_words(tex)};
}

TexFormula between_dollars(std::string_view text) {
  if (text.starts_with("$$")) return between(text, "$$", "$$");
  const size_t end = text.find('$', 1);
  if (end == text.npos || !is_formula(text.substr(1, end - 1))) return {};
  const char behind = end + 1 < text.size() ? text[end + 1] : ' ';
  const std::string_view rest = text.substr(end + 1);
  const bool ordinal =
      end == 2 && rest.starts_with("th") && (rest.size() == 2 || !is_alnum(rest[2]));
  if ((is_alnum(behind) && !ordinal) || behind == '$') return {};  // "the $n$th"
  return {end + 1, formula_words(text.substr(1, end - 1))};
}

/// Reads a command without "$" around it ("\frac{1}{2}", "\sqrt{2}"), up to its last brace.
TexFormula bare_command(std::string_view text) {
  size_t end = 1;
  while (end < text.size() && is_letter(text[end])) ++end;
  const bool braced = end < text.size() && (text[end] == '{' || text[end] == '[');
  const TexCommand* known = command_of(text.substr(1, end - 1));
  if (!braced || known == nullptr) return {};
  for (int level = 0; end < text.size(); ++end) {
    const char c = text[end];
    level += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
    const char next = end + 1 < text.size() ? text[end + 1] : ' ';
    if (level == 0 && next != '{' && next != '^' && next != '_') {
      return {end + 1, formula_words(text.substr(0, end + 1))};
    }
  }
  return {};
}

}  // namespace

TexFormula formula_at(std::string_view text) {
  if (text.starts_with("$")) return between_dollars(text);
  if (text.starts_with("\\(")) return between(text, "\\(", "\\)");
  if (text.starts_with("\\[")) return between(text, "\\[", "\\]");
  return text.starts_with("\\") ? bare_command(text) : TexFormula();
}

std::string formula_words(std::string_view tex) { return TexReader(tex, 0).run(); }

}  // namespace syrinx::english
