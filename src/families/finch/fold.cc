#include "families/finch/fold.h"

#include <algorithm>
#include <array>
#include <string>

namespace syrinx::finch {
namespace {

struct Decoded {
  uint32_t code = 0;  ///< 0 when the bytes are broken
  int length = 1;
};

/// Strict: overlong forms, surrogates and codes past U+10FFFF are broken, one byte at a time.
Decoded decode(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t head = byte(at);
  if (head < 0x80) return {head, 1};
  const int length = head >= 0xF0 && head < 0xF5 ? 4 : head >= 0xE0 ? 3 : head >= 0xC2 ? 2 : 0;
  if (length == 0 || head >= 0xF5 || at + length > text.size()) return {};
  uint32_t code = head & (0xFF >> (length + 1));
  for (int i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return {};
    code = code << 6 | (byte(at + i) & 0x3F);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  if (overlong || (code >= 0xD800 && code < 0xE000) || code > 0x10FFFF) return {};
  return {code, length};
}

struct Sign {
  uint32_t code;
  std::string_view plain;
};

// Sorted by code.
constexpr std::array kSigns = std::to_array<Sign>({
    {0xA0, " "},
    {0xA1, ""},
    {0xA2, " cents "},
    {0xA3, "\x02"},
    {0xA5, "\x03"},
    {0xA7, " section "},
    {0xA9, " copyright "},
    {0xAB, "\""},
    {0xAD, ""},
    {0xAE, ""},
    {0xB0, "\xB0"},
    {0xB1, " plus or minus "},
    {0xB2, " squared "},
    {0xB3, " cubed "},
    {0xB4, "'"},
    {0xB5, "u"},
    {0xB7, " "},
    {0xBB, "\""},
    {0xBC, " one quarter "},
    {0xBD, " one half "},
    {0xBE, " three quarters "},
    {0xBF, ""},
    {0xD7, " times "},
    {0xF7, " divided by "},
    {0x2010, "-"},
    {0x2011, "-"},
    {0x2012, "-"},
    {0x2013, "\x1E"},
    {0x2014, "\x1F"},
    {0x2015, "\x1F"},
    {0x2018, "'"},
    {0x2019, "'"},
    {0x201A, ","},
    {0x201C, "\""},
    {0x201D, "\""},
    {0x201E, "\""},
    {0x2022, "\x1F"},
    {0x2026, "..."},
    {0x2030, " per mille "},
    {0x2032, "'"},
    {0x2033, "\""},
    {0x2044, "/"},
    {0x20AC, "\x01"},
    {0x20B9, "\x04"},
    {0x2103,
     "\xB0"
     "C"},
    {0x2109,
     "\xB0"
     "F"},
    {0x2116, "number "},
    {0x2122, ""},
    {0x2190, " "},
    {0x2192, " to "},
    {0x2212, "-"},
    {0x221A, " square root of "},
    {0x221E, " infinity "},
    {0x2248, " about "},
    {0x2260, " is not equal to "},
    {0x2264, " at most "},
    {0x2265, " at least "},
    {0x3C0, " pi "},
    {0x3A9, " ohms "},
    {0x3BC, "u"},
});

/// Letters U+00C0 .. U+017F without their accents, comma separated, in order.
constexpr std::string_view kLatin =
    "A,A,A,A,A,A,AE,C,E,E,E,E,I,I,I,I,D,N,O,O,O,O,O,*,O,U,U,U,U,Y,Th,ss,"
    "a,a,a,a,a,a,ae,c,e,e,e,e,i,i,i,i,d,n,o,o,o,o,o,*,o,u,u,u,u,y,th,y,"
    "A,a,A,a,A,a,C,c,C,c,C,c,C,c,D,d,D,d,E,e,E,e,E,e,E,e,E,e,G,g,G,g,G,g,G,g,H,h,H,h,"
    "I,i,I,i,I,i,I,i,I,i,IJ,ij,J,j,K,k,k,L,l,L,l,L,l,L,l,L,l,N,n,N,n,N,n,n,N,n,O,o,O,o,O,o,"
    "OE,oe,R,r,R,r,R,r,S,s,S,s,S,s,S,s,T,t,T,t,T,t,U,u,U,u,U,u,U,u,U,u,U,u,W,w,Y,y,Y,"
    "Z,z,Z,z,Z,z,s";

std::string_view latin(uint32_t code) {
  size_t at = 0;
  for (uint32_t i = 0xC0; i < code; ++i) at = kLatin.find(',', at) + 1;
  return kLatin.substr(at, kLatin.find(',', at) - at);
}

bool is_combining(uint32_t code) {
  return (code >= 0x300 && code < 0x370) || (code >= 0x200B && code <= 0x200F) ||
         (code >= 0xFE00 && code <= 0xFE0F) || code == 0xFEFF || code == 0x2060;
}

/// The plain form; " " for what has no English reading.
std::string_view plain_form(uint32_t code) {
  const auto sign =
      std::find_if(kSigns.begin(), kSigns.end(), [code](const Sign& s) { return s.code == code; });
  if (sign != kSigns.end()) return sign->plain;
  if (is_combining(code)) return "";
  if (code >= 0xC0 && code < 0x180) return latin(code);
  if (code == 0x2028 || code == 0x2029) return "\n";
  return " ";
}

}  // namespace

std::vector<FoldedChar> fold(std::string_view utf8) {
  std::vector<FoldedChar> out;
  out.reserve(utf8.size());
  for (size_t at = 0; at < utf8.size();) {
    const Decoded decoded = decode(utf8, at);
    const auto begin = static_cast<int64_t>(at);
    const int64_t end = begin + decoded.length;
    at += decoded.length;
    const uint32_t full = decoded.code;
    // Full-width forms of the ASCII characters.
    const uint32_t code = full >= 0xFF01 && full <= 0xFF5E ? full - 0xFF01 + 0x21 : full;
    if (code >= 0x20 && code < 0x7F) {
      out.push_back({static_cast<char>(code), begin, end});
    } else if (code == '\n') {
      out.push_back({'\n', begin, end});
    } else if (code < 0xA0) {
      out.push_back({' ', begin, end});
    } else {
      for (const char c : plain_form(code)) out.push_back({c, begin, end});
    }
  }
  return out;
}

}  // namespace syrinx::finch
