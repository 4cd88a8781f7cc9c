#include "text/surrogates.h"

#include <algorithm>
#include <array>
#include <utility>

#include "text/utf8.h"

namespace syrinx {
namespace {

constexpr char32_t kHigh = 0xd800, kLow = 0xdc00, kEnd = 0xe000;
/// Noncharacters, which programs may use internally (Unicode, 23.7). A mark says whether it is the
/// high or the low half; two digits of base 32 after it hold the ten bits of the half.
constexpr char32_t kHighMark = 0xfdd0, kLowMark = 0xfdd1, kDigit = 0xfdd0;
constexpr size_t kMarkBytes = 9;

bool is_half(char32_t code) { return code >= kHigh && code < kEnd; }

char32_t joined(char32_t high, char32_t low) {
  return 0x10000 + ((high - kHigh) << 10) + (low - kLow);
}

std::string escape_of(char32_t code) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out = "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kDigits[(code >> shift) & 15];
  return out;
}

/// Returns the code of an escape "\uXXXX" at `at`.
std::optional<char32_t> escape_at(std::string_view json, size_t at) {
  if (json.substr(at, 2) != "\\u" || json.size() < at + 6) return {};
  char32_t code = 0;
  for (const char c : json.substr(at + 2, 4)) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return {};
    code = code << 4 | static_cast<char32_t>(digit);
  }
  return code;
}

std::string mended(char32_t half, LoneHalf lone) {
  if (lone == LoneHalf::kReplace) return escape_of(kReplacement);
  const char32_t bits = (half - kHigh) & 0x3ff;
  return escape_of(half < kLow ? kHighMark : kLowMark) + escape_of(kDigit + (bits >> 5)) +
         escape_of(kDigit + (bits & 31));
}

/// Returns the half whose mark is at `at`; 0 if no mark is at `at`.
char32_t mark_at(std::string_view text, size_t at) {
  if (text.size() - at < kMarkBytes) return 0;
  std::array<char32_t, 3> codes{};
  for (char32_t& code : codes) {
    const CodePoint point = utf8_at(text, at);
    if (point.value < kDigit || point.value > kDigit + 31) return 0;
    code = point.value;
    at += point.size;
  }
  if (codes[0] > kLowMark) return 0;
  const char32_t bits = (codes[1] - kDigit) << 5 | (codes[2] - kDigit);
  return (codes[0] == kHighMark ? kHigh : kLow) + bits;
}

}  // namespace

std::optional<std::string> mend_halves(std::string_view json, LoneHalf lone) {
  std::optional<std::string> out;
  size_t copied = 0;
  for (size_t at = json.find('\\'); at != json.npos; at = json.find('\\', at)) {
    const auto code = escape_at(json, at);
    if (!code || !is_half(*code)) {
      at += code ? 6 : 2;
      continue;
    }
    const auto next = escape_at(json, at + 6);
    if (*code < kLow && next && *next >= kLow && *next < kEnd) {
      at += 12;
      continue;
    }
    if (!out) out.emplace();
    out->append(json.substr(copied, at - copied));
    out->append(mended(*code, lone));
    at += 6;
    copied = at;
  }
  if (out) out->append(json.substr(copied));
  return out;
}

std::string HalfJoiner::push(std::string_view piece) {
  std::string out;
  for (size_t at = 0; at < piece.size();) {
    // All marks begin with the first byte of U+FDD0. Few other characters begin with this byte.
    const size_t next = std::min(piece.find(static_cast<char>(0xef), at), piece.size());
    const char32_t half = next < piece.size() ? mark_at(piece, next) : 0;
    if (next > at || half == 0) out += finish();
    out += piece.substr(at, next - at);
    at = next;
    if (half == 0) {
      if (at < piece.size()) out += piece[at++];
      continue;
    }
    at += kMarkBytes;
    if (high_ != 0 && half >= kLow) {
      utf8_append(out, joined(std::exchange(high_, 0), half));
      continue;
    }
    out += finish();
    if (half < kLow) {
      high_ = half;
    } else {
      utf8_append(out, kReplacement);
    }
  }
  return out;
}

std::string HalfJoiner::finish() {
  std::string out;
  if (std::exchange(high_, 0) != 0) utf8_append(out, kReplacement);
  return out;
}

}  // namespace syrinx
