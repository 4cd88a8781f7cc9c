#include "families/kokoro/bopomofo.h"

#include <algorithm>
#include <array>
#include <utility>

#include "families/kokoro/pinyin.h"
#include "families/kokoro/written.h"

namespace syrinx::kokoro {
namespace {

using Sign = std::pair<std::string_view, std::string_view>;

constexpr std::array<Sign, 59> kSigns{
    {{"b", "ㄅ"},    {"p", "ㄆ"},    {"m", "ㄇ"},   {"f", "ㄈ"},   {"d", "ㄉ"},    {"t", "ㄊ"},
     {"n", "ㄋ"},    {"l", "ㄌ"},    {"g", "ㄍ"},   {"k", "ㄎ"},   {"h", "ㄏ"},    {"j", "ㄐ"},
     {"q", "ㄑ"},    {"x", "ㄒ"},    {"zh", "ㄓ"},  {"ch", "ㄔ"},  {"sh", "ㄕ"},   {"r", "ㄖ"},
     {"z", "ㄗ"},    {"c", "ㄘ"},    {"s", "ㄙ"},   {"a", "ㄚ"},   {"o", "ㄛ"},    {"e", "ㄜ"},
     {"ie", "ㄝ"},   {"ai", "ㄞ"},   {"ei", "ㄟ"},  {"ao", "ㄠ"},  {"ou", "ㄡ"},   {"an", "ㄢ"},
     {"en", "ㄣ"},   {"ang", "ㄤ"},  {"eng", "ㄥ"}, {"er", "ㄦ"},  {"i", "ㄧ"},    {"u", "ㄨ"},
     {"v", "ㄩ"},    {"ii", "ㄭ"},   {"iii", "十"}, {"ve", "月"},  {"ia", "压"},   {"ian", "言"},
     {"iang", "阳"}, {"iao", "要"},  {"in", "阴"},  {"ing", "应"}, {"iong", "用"}, {"iou", "又"},
     {"ong", "中"},  {"ua", "穵"},   {"uai", "外"}, {"uan", "万"}, {"uang", "王"}, {"uei", "为"},
     {"uen", "文"},  {"ueng", "瓮"}, {"uo", "我"},  {"van", "元"}, {"vn", "云"}}};

std::string_view sign_of(std::string_view sound) {
  const auto at = std::find_if(kSigns.begin(), kSigns.end(),
                               [&](const Sign& row) { return row.first == sound; });
  return at == kSigns.end() ? std::string_view() : at->second;
}

/// Returns the name of the final. The three vowels that pinyin writes as "i" have separate names.
std::string_view named_final(const SyllableParts& parts) {
  if (parts.final != "i") return parts.final;
  if (parts.initial == "z" || parts.initial == "c" || parts.initial == "s") return "ii";
  const bool curled = parts.initial == "zh" || parts.initial == "ch" || parts.initial == "sh" ||
                      parts.initial == "r";
  return curled ? "iii" : "i";
}

}  // namespace

std::string bopomofo_of(std::u32string_view word, std::span<const std::string> syllables, bool r) {
  std::string out;
  const size_t count = r ? syllables.size() - 1 : syllables.size();
  for (size_t i = 0; i < count; ++i) {
    const SyllableParts parts = parts_of_pinyin(syllables[i]);
    if (parts.final.empty()) {
      out += utf8_of(word.substr(i, 1));
      continue;
    }
    const bool begun = !out.empty() || !parts.initial.empty();
    out += sign_of(parts.initial);
    const bool ends_in_r = r && i + 1 == count;
    if (ends_in_r && parts.final == "e" && begun) {
      out += sign_of("er");
    } else {
      out += sign_of(named_final(parts));
      if (ends_in_r) out += 'R';
    }
    out += parts.tone;
  }
  return out;
}

}  // namespace syrinx::kokoro
