#include "families/kokoro/written.h"

#include "text/utf8.h"

namespace syrinx::kokoro {
namespace {

constexpr char32_t kWideZero = U'０';

}  // namespace

std::vector<Written> written(std::string_view text, int64_t offset) {
  std::vector<Written> out;
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = utf8_at(text, at);
    const auto begin = offset + static_cast<int64_t>(at);
    out.push_back({c.value < U' ' ? U' ' : c.value, begin, begin + c.size});
    at += c.size;
  }
  return out;
}

std::string utf8_of(std::span<const Written> text) {
  std::string out;
  for (const Written& each : text) utf8_append(out, each.c);
  return out;
}

bool is_any_digit(char32_t c) {
  return (c >= U'0' && c <= U'9') || (c >= kWideZero && c <= kWideZero + 9);
}

int digit_value(char32_t c) { return static_cast<int>(c >= kWideZero ? c - kWideZero : c - U'0'); }

void append(std::vector<Written>& out, std::u32string_view words, std::span<const Written> source) {
  for (const char32_t c : words) out.push_back({c, source.front().begin, source.back().end});
}

}  // namespace syrinx::kokoro
