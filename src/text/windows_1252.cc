#include "text/windows_1252.h"

#include <algorithm>
#include <array>

#include "text/utf8.h"

namespace syrinx {
namespace {

/// The characters of the bytes 0x80 to 0x9f. Higher bytes mean the same as in Latin-1.
constexpr std::array<char32_t, 32> kCodes = {
    0x20ac,       kReplacement, 0x201a, 0x0192, 0x201e, 0x2026,       0x2020, 0x2021,
    0x02c6,       0x2030,       0x0160, 0x2039, 0x0152, kReplacement, 0x017d, kReplacement,
    kReplacement, 0x2018,       0x2019, 0x201c, 0x201d, 0x2022,       0x2013, 0x2014,
    0x02dc,       0x2122,       0x0161, 0x203a, 0x0153, kReplacement, 0x017e, 0x0178};

char32_t code_of_byte(char byte) {
  const auto value = static_cast<unsigned char>(byte);
  return value >= 0x80 && value < 0xa0 ? kCodes[value - 0x80] : value;
}

}  // namespace

bool looks_windows_1252(std::string_view bytes) {
  size_t errors = 0, characters = 0;  // numbers of invalid bytes and of characters beyond ASCII
  for (size_t at = 0; at < bytes.size();) {
    const CodePoint point = utf8_at(bytes, at);
    if (!point.valid) {
      ++errors;
    } else if (point.value > 0x7f) {
      ++characters;
    }
    at += point.size;
  }
  return errors > characters && std::none_of(bytes.begin(), bytes.end(), [](char byte) {
           return code_of_byte(byte) == kReplacement;
         });
}

std::string from_windows_1252(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() + bytes.size() / 8);
  for (const char byte : bytes) utf8_append(out, code_of_byte(byte));
  return out;
}

}  // namespace syrinx
