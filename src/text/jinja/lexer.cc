#include "text/jinja/lexer.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "io/file.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace syrinx::jinja {
namespace {

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_digit_char(char c) { return c >= '0' && c <= '9'; }
bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit_char(c);
}

/// Returns the text with "\n" as the only line end, and without the line end at its end.
std::string normal_lines(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out += source[i];
    } else if (i + 1 == source.size() || source[i + 1] != '\n') {
      out += '\n';
    }
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : text_(normal_lines(source)) {}

  std::vector<Token> run() {
    while (at_ < text_.size()) {
      const size_t tag = next_tag();
      read_data(tag);
      if (at_ >= text_.size()) break;
      const char kind = text_[at_ + 1];
      at_ += 2;
      if (at_ < text_.size() && (text_[at_] == '-' || text_[at_] == '+')) ++at_;
      if (kind == '#') {
        skip_comment();
      } else if (kind == '%' && raw_begins()) {
        read_raw();
      } else {
        add(kind == '{' ? Token::kPrint : Token::kBlock);
        read_tag(kind == '{');
      }
    }
    add(Token::kEnd);
    return std::move(tokens_);
  }

 private:
  [[noreturn]] void fail(std::string what) const { throw SyntaxFault{line_, std::move(what)}; }
  bool see(std::string_view what) const { return text_.compare(at_, what.size(), what) == 0; }
  void add(Token::Kind kind, std::string text = {}) {
    tokens_.push_back({kind, std::move(text), line_});
  }
  void move_to(size_t end) {
    line_ += static_cast<int>(std::count(text_.begin() + static_cast<ptrdiff_t>(at_),
                                         text_.begin() + static_cast<ptrdiff_t>(end), '\n'));
    if (end > at_) line_begins_ = text_[end - 1] == '\n';
    at_ = end;
  }

  size_t next_tag() const {
    for (size_t at = at_; (at = text_.find('{', at)) != text_.npos; ++at) {
      const char next = at + 1 < text_.size() ? text_[at + 1] : ' ';
      if (next == '{' || next == '%' || next == '#') return at;
    }
    return text_.size();
  }

  /// Reads plain text up to a tag or the end, without the white space that the tag removes.
  void read_data(size_t tag) {
    size_t end = tag;
    if (tag < text_.size()) {
      const char sign = tag + 2 < text_.size() ? text_[tag + 2] : ' ';
      if (sign == '-') {
        end = at_ + stripped(std::string_view(text_).substr(at_, tag - at_));
      } else if (sign != '+' && text_[tag + 1] != '{') {
        const size_t feed = tag == 0 ? text_.npos : text_.rfind('\n', tag - 1);
        const bool in_data = feed != text_.npos && feed >= at_;
        const size_t begin = in_data ? feed + 1 : at_;
        const bool blank = std::all_of(text_.begin() + static_cast<ptrdiff_t>(begin),
                                       text_.begin() + static_cast<ptrdiff_t>(tag), is_blank);
        if ((in_data || line_begins_) && blank) end = begin;
      }
    }
    if (end > at_) add(Token::kData, text_.substr(at_, end - at_));
    move_to(tag);
  }

  /// Returns the length without white space at the end.
  static size_t stripped(std::string_view text) {
    size_t end = text.size();
    while (end > 0) {
      const CodePoint code = utf8_before(text, end);
      if (!is_space(code.value)) break;
      end -= code.size;
    }
    return end;
  }

  /// Ends a tag. A '-' before its end removes the white space after the tag; a '+' keeps it.
  void end_tag(char sign, bool trims) {
    size_t end = at_ + 2;
    if (sign == '-') {
      while (end < text_.size()) {
        const CodePoint code = utf8_at(text_, end);
        if (!is_space(code.value)) break;
        end += code.size;
      }
    } else if (sign != '+' && trims && end < text_.size() && text_[end] == '\n') {
      ++end;
    }
    move_to(end);
  }

  void skip_comment() {
    const size_t end = text_.find("#}", at_);
    if (end == text_.npos) fail("a comment has no end");
    const char sign = end > at_ ? text_[end - 1] : ' ';
    move_to(end);
    end_tag(sign, true);
  }

  bool raw_begins() const {
    size_t at = at_;
    while (at < text_.size() && is_blank(text_[at])) ++at;
    if (text_.compare(at, 3, "raw") != 0) return false;
    at += 3;
    while (at < text_.size() && is_blank(text_[at])) ++at;
    if (at < text_.size() && text_[at] == '-') ++at;
    return text_.compare(at, 2, "%}") == 0;
  }

  void read_raw() {
    const size_t begin = text_.find("%}", at_);
    const char sign = text_[begin - 1];
    move_to(begin);
    end_tag(sign, false);
    for (size_t tag = at_; (tag = text_.find("{%", tag)) != text_.npos; ++tag) {
      size_t at = tag + 2;
      const bool strips = at < text_.size() && text_[at] == '-';
      if (at < text_.size() && (text_[at] == '-' || text_[at] == '+')) ++at;
      while (at < text_.size() && is_blank(text_[at])) ++at;
      if (text_.compare(at, 6, "endraw") != 0) continue;
      at += 6;
      while (at < text_.size() && is_blank(text_[at])) ++at;
      const char last = at < text_.size() ? text_[at] : ' ';
      if (last == '-' || last == '+') ++at;
      if (text_.compare(at, 2, "%}") != 0) continue;
      size_t end = tag;
      if (strips) end = at_ + stripped(std::string_view(text_).substr(at_, tag - at_));
      if (end > at_) add(Token::kData, text_.substr(at_, end - at_));
      move_to(at);
      return end_tag(last, true);
    }
    fail("{% raw %} has no {% endraw %}");
  }

  void read_tag(bool print) {
    const std::string_view end = print ? "}}" : "%}";
    std::string open;  // open brackets, the innermost last
    for (;;) {
      size_t at = at_;
      while (at < text_.size() && is_blank(text_[at])) ++at;
      move_to(at);
      if (at_ >= text_.size()) fail(concat("a tag has no ", end));
      if (open.empty()) {
        const char sign = text_[at_];
        const bool signed_end =
            (sign == '-' || (sign == '+' && !print)) && text_.compare(at_ + 1, 2, end) == 0;
        if (signed_end || see(end)) {
          add(print ? Token::kPrintEnd : Token::kBlockEnd);
          if (signed_end) ++at_;
          return end_tag(signed_end ? sign : ' ', !print);
        }
      }
      read_token(open);
    }
  }

  void read_token(std::string& open) {
    const char c = text_[at_];
    if (c == '"' || c == '\'') return read_text(c);
    if (is_digit_char(c)) return read_number();
    if (is_name_char(c)) {
      size_t end = at_;
      while (end < text_.size() && is_name_char(text_[end])) ++end;
      add(Token::kName, text_.substr(at_, end - at_));
      at_ = end;
      return;
    }
    constexpr std::array<std::string_view, 25> kSigns = {
        "**", "//", "==", "!=", ">=", "<=", "(", ")", "[", "]", "{", "}", "+",
        "-",  "*",  "/",  "%",  "~",  "<",  ">", "=", "|", ".", ",", ":"};
    const auto sign =
        std::find_if(kSigns.begin(), kSigns.end(), [&](std::string_view s) { return see(s); });
    if (sign == kSigns.end()) {
      const size_t size = utf8_at(text_, at_).size;
      fail("unexpected " + shown(std::string_view(text_).substr(at_, size)));
    }
    if (c == '(' || c == '[' || c == '{') open += c;
    if (c == ')' || c == ']' || c == '}') {
      const char want = c == ')' ? '(' : c == ']' ? '[' : '{';
      if (open.empty() || open.back() != want) fail(concat("unexpected '", c, "'"));
      open.pop_back();
    }
    add(Token::kSign, std::string(*sign));
    at_ += sign->size();
  }

  void read_number() {
    size_t end = at_;
    const auto digits = [&] {
      while (end < text_.size() && (is_digit_char(text_[end]) || text_[end] == '_')) ++end;
    };
    digits();
    bool real = false;
    if (end + 1 < text_.size() && text_[end] == '.' && is_digit_char(text_[end + 1])) {
      real = true;
      ++end;
      digits();
    }
    if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
      size_t at = end + 1;
      if (at < text_.size() && (text_[at] == '+' || text_[at] == '-')) ++at;
      if (at < text_.size() && is_digit_char(text_[at])) {
        real = true;
        end = at;
        digits();
      }
    }
    if (end < text_.size() && is_name_char(text_[end])) fail("a number is followed by a letter");
    std::string number = text_.substr(at_, end - at_);
    std::erase(number, '_');
    add(real ? Token::kFloat : Token::kInt, std::move(number));
    at_ = end;
  }

  void read_text(char quote) {
    size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != quote) end += text_[end] == '\\' ? 2 : 1;
    if (end >= text_.size()) fail("a text in quotes has no end");
    add(Token::kText, unescaped(std::string_view(text_).substr(at_ + 1, end - at_ - 1)));
    move_to(end + 1);
  }

  /// Replaces Python's escapes. Unknown escapes stay unchanged.
  std::string unescaped(std::string_view text) const {
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '\\') {
        out += text[i];
        continue;
      }
      const char c = text[++i];
      constexpr std::string_view kNames = "abfnrtv\\'\"", kValues = "\a\b\f\n\r\t\v\\'\"";
      const size_t simple = kNames.find(c);
      const int digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
      if (simple != kNames.npos) {
        out += kValues[simple];
      } else if (c == '\n') {
        continue;  // an escaped line end
      } else if (digits > 0) {
        utf8_append(out, digits_at(text, i + 1, digits, 16));
        i += static_cast<size_t>(digits);
      } else if (c >= '0' && c <= '7') {
        size_t end = i;
        while (end < text.size() && end < i + 3 && text[end] >= '0' && text[end] <= '7') ++end;
        utf8_append(out, digits_at(text, i, static_cast<int>(end - i), 8));
        i = end - 1;
      } else {
        out += '\\';
        out += c;
      }
    }
    return out;
  }

  char32_t digits_at(std::string_view text, size_t at, int count, int base) const {
    char32_t code = 0;
    for (int i = 0; i < count; ++i, ++at) {
      const char c = at < text.size() ? text[at] : ' ';
      const int digit = is_digit_char(c)         ? c - '0'
                        : (c >= 'a' && c <= 'f') ? c - 'a' + 10
                        : (c >= 'A' && c <= 'F') ? c - 'A' + 10
                                                 : 99;
      if (digit >= base) fail("an escape in a text lacks digits");
      code = code * static_cast<char32_t>(base) + static_cast<char32_t>(digit);
    }
    return code;
  }

  const std::string text_;
  size_t at_ = 0;
  int line_ = 1;
  bool line_begins_ = true;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokens_of(std::string_view source) { return Lexer(source).run(); }

}  // namespace syrinx::jinja
