#include "text/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>

#include "base/check.h"
#include "text/utf8.h"

namespace syrinx {
namespace {

utf8proc_category_t category(char32_t code) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(code));
}

bool in(char32_t code, char32_t first, char32_t last) { return first <= code && code <= last; }

/// Returns whether a code point may combine, or change its order, with the characters before it.
bool joins_before(char32_t code) {
  const auto kind = category(code);
  if (kind == UTF8PROC_CATEGORY_MN || kind == UTF8PROC_CATEGORY_MC || kind == UTF8PROC_CATEGORY_ME)
    return true;
  return in(code, 0x1160, 0x11ff);  // vowels and final consonants of Hangul
}

/// Returns a normal form of a text. The text must not have long runs of combining marks, because
/// utf8proc's time to sort the marks of a run is quadratic.
std::string map_text(std::string_view text, NormalForm form) {
  const bool compose = form == NormalForm::kNfc || form == NormalForm::kNfkc;
  const bool compatible = form == NormalForm::kNfkc || form == NormalForm::kNfkd;
  const auto options = static_cast<utf8proc_option_t>(
      UTF8PROC_STABLE | (compose ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE) |
      (compatible ? UTF8PROC_COMPAT : 0));
  utf8proc_uint8_t* data = nullptr;
  const auto size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                 static_cast<utf8proc_ssize_t>(text.size()), &data, options);
  const std::unique_ptr<utf8proc_uint8_t, void (*)(void*)> owner(data, std::free);
  if (size == UTF8PROC_ERROR_NOMEM) throw std::bad_alloc();
  SYRINX_CHECK(size >= 0, "utf8proc: ", utf8proc_errmsg(size));
  return std::string(reinterpret_cast<const char*>(data), static_cast<size_t>(size));
}

}  // namespace

std::string normalize(std::string_view text, NormalForm form) {
  const auto ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (form == NormalForm::kNone || std::all_of(text.begin(), text.end(), ascii))
    return std::string(text);
  // No script needs more marks on a letter. Longer runs are attacks and are normalized in parts.
  constexpr int kMaxMarks = 256;
  std::string out;
  size_t begin = 0;
  int marks = 0;
  for (size_t at = 0; at < text.size();) {
    const CodePoint code = utf8_at(text, at);
    marks = joins_before(code.value) ? marks + 1 : 0;
    if (marks == kMaxMarks) {
      out += map_text(text.substr(begin, at - begin), form);
      begin = at, marks = 0;
    }
    at += code.size;
  }
  return out + map_text(text.substr(begin), form);
}

size_t normal_prefix(std::string_view text) {
  size_t end = text.size();
  while (end > 0) {
    const CodePoint code = utf8_before(text, end);
    end -= code.size;
    if (!joins_before(code.value)) return end;
  }
  return 0;
}

bool is_space(char32_t code) {
  return in(code, 9, 13) || code == 0x20 || code == 0x85 || code == 0xa0 || code == 0x1680 ||
         in(code, 0x2000, 0x200a) || code == 0x2028 || code == 0x2029 || code == 0x202f ||
         code == 0x205f || code == 0x3000;
}

bool is_word(char32_t code) {
  switch (category(code)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC:
      return true;
    default:  // circled and squared letters and joiners count as letters
      return in(code, 0x24b6, 0x24e9) || in(code, 0x1f130, 0x1f149) || in(code, 0x1f150, 0x1f169) ||
             in(code, 0x1f170, 0x1f189) || in(code, 0x200c, 0x200d);
  }
}

bool is_letter(char32_t code) {
  const auto kind = category(code);
  return kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_LO;
}

bool is_upper(char32_t code) { return category(code) == UTF8PROC_CATEGORY_LU; }
bool is_lower(char32_t code) { return category(code) == UTF8PROC_CATEGORY_LL; }
bool is_digit(char32_t code) { return category(code) == UTF8PROC_CATEGORY_ND; }

Category general_category(char32_t code) {
  const auto kind = category(code);  // utf8proc lists the categories in Unicode's order
  if (kind < UTF8PROC_CATEGORY_LU || kind > UTF8PROC_CATEGORY_ZP) return Category::kOther;
  if (kind <= UTF8PROC_CATEGORY_LO) return Category::kLetter;
  if (kind <= UTF8PROC_CATEGORY_ME) return Category::kMark;
  if (kind <= UTF8PROC_CATEGORY_NO) return Category::kNumber;
  if (kind <= UTF8PROC_CATEGORY_PO) return Category::kPunctuation;
  return kind <= UTF8PROC_CATEGORY_SO ? Category::kSymbol : Category::kSeparator;
}

std::string to_upper(char32_t code) {
  if (code == 0xdf) return "SS";
  std::string out;
  utf8_append(out, static_cast<char32_t>(utf8proc_toupper(static_cast<int32_t>(code))));
  return out;
}

std::string to_lower(std::string_view text) {
  constexpr char32_t kSigma = 0x3a3, kSmallSigma = 0x3c3, kLastSigma = 0x3c2;
  std::string out;
  bool in_word = false;  // whether the character before belongs to a word
  for (size_t at = 0; at < text.size();) {
    const CodePoint code = utf8_at(text, at);
    at += code.size;
    const bool ends = at == text.size() || !is_letter(utf8_at(text, at).value);
    if (code.value == kSigma) {
      utf8_append(out, in_word && ends ? kLastSigma : kSmallSigma);
    } else if (code.value == 0x130) {
      utf8_append(out, 'i');
      utf8_append(out, 0x307);
    } else {
      const auto lower = utf8proc_tolower(static_cast<utf8proc_int32_t>(code.value));
      utf8_append(out, static_cast<char32_t>(lower));
    }
    in_word = is_letter(code.value);
  }
  return out;
}

size_t display_columns(std::string_view text) {
  size_t out = 0;
  for (size_t at = 0; at < text.size();) {
    const CodePoint code = utf8_at(text, at);
    out += static_cast<size_t>(utf8proc_charwidth(static_cast<utf8proc_int32_t>(code.value)));
    at += code.size;
  }
  return out;
}

}  // namespace syrinx
