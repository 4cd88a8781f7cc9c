#include "text/utf8.h"

#include <algorithm>

namespace syrinx {
namespace {

/// The length of a sequence by its first byte (0 if invalid), and the range of its second byte.
struct Lead {
  uint32_t size;
  uint8_t low, high;
};

Lead lead_of(uint8_t byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xc2 || byte > 0xf4) return {0, 0, 0};
  if (byte < 0xe0) return {2, 0x80, 0xbf};
  if (byte < 0xf0) {
    const uint8_t low = byte == 0xe0 ? 0xa0 : 0x80;   // no overlong forms
    const uint8_t high = byte == 0xed ? 0x9f : 0xbf;  // no surrogates
    return {3, low, high};
  }
  const uint8_t low = byte == 0xf0 ? 0x90 : 0x80;
  const uint8_t high = byte == 0xf4 ? 0x8f : 0xbf;  // nothing above U+10FFFF
  return {4, low, high};
}

/// Returns how many bytes at `at` are a sequence or the beginning of a sequence; at least 1.
uint32_t well_formed(std::string_view text, size_t at, const Lead& lead) {
  uint32_t have = 1;
  while (have < lead.size && at + have < text.size()) {
    const auto byte = static_cast<uint8_t>(text[at + have]);
    const uint8_t low = have == 1 ? lead.low : 0x80, high = have == 1 ? lead.high : 0xbf;
    if (byte < low || byte > high) break;
    ++have;
  }
  return have;
}

}  // namespace

CodePoint utf8_at(std::string_view text, size_t at) {
  const auto first = static_cast<uint8_t>(text[at]);
  if (first < 0x80) return {first, 1, true};
  const Lead lead = lead_of(first);
  const uint32_t have = well_formed(text, at, lead);
  if (lead.size == 0 || have < lead.size) return {kReplacement, have, false};
  char32_t value = first & (0xffu >> (lead.size + 1));
  for (uint32_t i = 1; i < have; ++i)
    value = value << 6 | (static_cast<uint8_t>(text[at + i]) & 63);
  return {value, have, true};
}

CodePoint utf8_before(std::string_view text, size_t end) {
  size_t at = end - 1;
  while (at > 0 && end - at < 4 && (static_cast<uint8_t>(text[at]) & 0xc0) == 0x80) --at;
  const CodePoint code = utf8_at(text.substr(0, end), at);
  return at + code.size == end ? code : CodePoint{kReplacement, 1, false};
}

size_t utf8_error(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const CodePoint code = utf8_at(text, at);
    if (!code.valid) return at;
    at += code.size;
  }
  return text.npos;
}

namespace {

std::string repaired(std::string_view text, bool each_byte) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; at < text.size();) {
    const CodePoint code = utf8_at(text, at);
    if (code.valid) out.append(text, at, code.size);
    const uint32_t errors = code.valid ? 0 : each_byte ? code.size : 1;
    for (uint32_t i = 0; i < errors; ++i) utf8_append(out, kReplacement);
    at += code.size;
  }
  return out;
}

}  // namespace

std::string utf8_repair(std::string_view text) { return repaired(text, false); }

std::string utf8_repair_bytes(std::string_view text) { return repaired(text, true); }

size_t utf8_unfinished(std::string_view text) {
  for (size_t back = 1; back <= std::min<size_t>(3, text.size()); ++back) {
    const size_t at = text.size() - back;
    const Lead lead = lead_of(static_cast<uint8_t>(text[at]));
    if (lead.size == 0) continue;  // a continuation byte, not the beginning of a sequence
    return lead.size > back && well_formed(text, at, lead) == back ? back : 0;
  }
  return 0;
}

void utf8_append(std::string& text, char32_t code) {
  if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) code = kReplacement;
  const auto tail = [&](int shift) { return static_cast<char>(0x80 | ((code >> shift) & 63)); };
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += {static_cast<char>(0xc0 | code >> 6), tail(0)};
  } else if (code < 0x10000) {
    text += {static_cast<char>(0xe0 | code >> 12), tail(6), tail(0)};
  } else {
    text += {static_cast<char>(0xf0 | code >> 18), tail(12), tail(6), tail(0)};
  }
}

size_t utf8_count(std::string_view text) {
  size_t count = 0;
  for (size_t at = 0; at < text.size(); ++count) at += utf8_at(text, at).size;
  return count;
}

}  // namespace syrinx
