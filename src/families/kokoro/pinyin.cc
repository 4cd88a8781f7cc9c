#include "families/kokoro/pinyin.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "families/kokoro/packed.h"

namespace syrinx::kokoro {
namespace {

using Spelling = std::pair<std::string_view, std::string_view>;

/// Reads big-endian numbers from the packed tables.
class TableReader {
 public:
  explicit TableReader(std::string_view bytes) : rest_(bytes) {}
  uint32_t number(size_t bytes) {
    SYRINX_CHECK(bytes <= rest_.size(), "[kokoro] the table of pinyin is truncated");
    uint32_t out = 0;
    for (size_t i = 0; i < bytes; ++i) out = out << 8 | static_cast<uint8_t>(rest_[i]);
    rest_.remove_prefix(bytes);
    return out;
  }
  std::string_view line() {
    const size_t end = rest_.find('\n');
    SYRINX_CHECK(end != rest_.npos, "[kokoro] the table of pinyin is truncated");
    const std::string_view out = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return out;
  }
  std::string_view bytes(size_t size) {
    SYRINX_CHECK(size <= rest_.size(), "[kokoro] the table of pinyin is truncated");
    return std::exchange(rest_, rest_.substr(size)).substr(0, size);
  }
  bool ended() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

// In these tables, 0 marks the place of the tone.
constexpr std::array<Spelling, 21> kInitials{
    {{"zh", "ꭧ"}, {"ch", "ꭧʰ"}, {"sh", "ʂ"}, {"b", "p"},  {"c", "ʦʰ"}, {"d", "t"},
     {"f", "f"},    {"g", "k"},      {"h", "x"},  {"j", "ʨ"},  {"k", "kʰ"}, {"l", "l"},
     {"m", "m"},    {"n", "n"},      {"p", "pʰ"}, {"q", "ʨʰ"}, {"r", "ɻ"},  {"s", "s"},
     {"t", "tʰ"},   {"x", "ɕ"},      {"z", "ʦ"}}};
constexpr std::array<Spelling, 35> kFinals{
    {{"a", "a0"},     {"ai", "ai0"},   {"an", "a0n"},    {"ang", "a0ŋ"},   {"ao", "au0"},
     {"e", "ɤ0"},     {"ei", "ei0"},   {"en", "ə0n"},    {"eng", "ə0ŋ"},   {"i", "i0"},
     {"ia", "ja0"},   {"ian", "jɛ0n"}, {"iang", "ja0ŋ"}, {"iao", "jau0"},  {"ie", "je0"},
     {"in", "i0n"},   {"iou", "jou0"}, {"ing", "i0ŋ"},   {"iong", "jʊ0ŋ"}, {"ong", "ʊ0ŋ"},
     {"ou", "ou0"},   {"u", "u0"},     {"uei", "wei0"},  {"ua", "wa0"},    {"uai", "wai0"},
     {"uan", "wa0n"}, {"uen", "wə0n"}, {"uang", "wa0ŋ"}, {"ueng", "wə0ŋ"}, {"uo", "wo0"},
     {"o", "wo0"},    {"v", "y0"},     {"ve", "ɥe0"},    {"van", "ɥɛ0n"},  {"vn", "y0n"}}};
// Syllables without an initial that have sounds of their own.
constexpr std::array<Spelling, 9> kWhole{{{"yo", "wo0"},
                                          {"ê", "ɛ0"},
                                          {"er", "ɚ0"},
                                          {"o", "ɔ0"},
                                          {"hm", "hm0"},
                                          {"hng", "hŋ0"},
                                          {"m", "m0"},
                                          {"n", "n0"},
                                          {"ng", "ŋ0"}}};
constexpr std::array<std::string_view, 6> kTones{"", "→", "↗", "↓", "↘", ""};

template <size_t N>
std::string_view found_in(const std::array<Spelling, N>& table, std::string_view key) {
  const auto at = std::find_if(table.begin(), table.end(),
                               [&](const Spelling& row) { return row.first == key; });
  return at == table.end() ? std::string_view() : at->second;
}

/// Returns the final before spelling rules are applied: "ui" is uei, "yuan" is van.
std::string full_final(std::string_view initial, std::string final) {
  if (initial.empty() && final.starts_with("y")) {
    final.erase(0, 1);
    if (final.starts_with("u")) return "v" + final.substr(1);
    if (final == "ou") return "iou";
    if (final == "ong") return "iong";
    return final.starts_with("i") ? final : "i" + final;
  }
  if (initial.empty() && final.starts_with("w")) {
    final.erase(0, 1);
    return final.starts_with("u") ? final : "u" + final;
  }
  const bool palatal = initial == "j" || initial == "q" || initial == "x";
  if (palatal && final.starts_with("u")) return "v" + final.substr(1);
  if (final == "iu") return "iou";
  if (final == "ui") return "uei";
  if (final == "un") return "uen";
  if (final == "ue") return "ve";
  return final;
}

/// Returns the initial with which a syllable begins, and its sound. Both may be empty.
const Spelling& initial_of(std::string_view syllable) {
  static constexpr Spelling kNone;
  const auto at = std::find_if(kInitials.begin(), kInitials.end(), [&](const Spelling& row) {
    return syllable.starts_with(row.first);
  });
  return at == kInitials.end() ? kNone : *at;
}

}  // namespace

Pinyin::Pinyin(std::string_view packed) {
  const std::string tables = unpacked(packed);
  TableReader table(tables);
  std::string_view names = table.line();
  syllables_.emplace_back();
  while (!names.empty()) {
    const size_t end = std::min(names.find(' '), names.size());
    syllables_.emplace_back(names.substr(0, end));
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  const auto index = [&](TableReader& from) {
    const uint32_t at = from.number(2);
    SYRINX_CHECK(at < syllables_.size(), "[kokoro] unknown syllable ", at);
    return static_cast<uint16_t>(at);
  };
  for (char32_t c = kFirstHan; c <= kLastHan; ++c) usual_.push_back(index(table));
  const size_t size = table.number(4);
  TableReader phrases(table.bytes(size));
  std::u32string phrase;
  while (!phrases.ended()) {
    const uint32_t sizes = phrases.number(1);
    phrase.resize(sizes >> 4);
    for (uint32_t i = 0; i < (sizes & 15); ++i) phrase += static_cast<char32_t>(phrases.number(2));
    std::vector<uint16_t> readings;
    for (size_t i = 0; i < phrase.size(); ++i) readings.push_back(index(table));
    longest_ = std::max(longest_, phrase.size());
    phrases_.emplace(phrase, std::move(readings));
  }
  SYRINX_CHECK(table.ended(), "[kokoro] the table of pinyin is too long");
}

std::vector<std::string> Pinyin::read(std::u32string_view word) const {
  std::vector<std::string> out;
  const auto usual = [&](char32_t c) -> const std::string& {
    return syllables_[c < kFirstHan || c > kLastHan ? 0 : usual_[c - kFirstHan]];
  };
  while (!word.empty()) {
    size_t size = std::min(longest_, word.size());
    auto found = phrases_.end();
    for (; size > 1; --size) {
      found = phrases_.find(std::u32string(word.substr(0, size)));
      if (found != phrases_.end()) break;
    }
    for (size_t i = 0; i < size; ++i) {
      const uint16_t reading = found == phrases_.end() ? 0 : found->second[i];
      out.push_back(reading == 0 ? usual(word[i]) : syllables_[reading]);
    }
    word.remove_prefix(size);
  }
  return out;
}

SyllableParts parts_of_pinyin(std::string_view syllable) {
  SyllableParts out;
  if (syllable.size() < 2 || syllable.back() < '1' || syllable.back() > '5') return out;
  out.tone = syllable.back();
  syllable.remove_suffix(1);
  if (syllable == "n" || syllable == "m") {
    out.final = syllable;
    return out;
  }
  out.initial = initial_of(syllable).first;
  out.final = full_final(out.initial, std::string(syllable.substr(out.initial.size())));
  if (found_in(kFinals, out.final).empty() && out.final != "er") out.final.clear();
  return out;
}

std::string ipa_of_pinyin(std::string_view syllable) {
  if (syllable.size() < 2 || syllable.back() < '1' || syllable.back() > '5') return {};
  const std::string_view tone = kTones[static_cast<size_t>(syllable.back() - '0')];
  syllable.remove_suffix(1);
  std::string sounds(found_in(kWhole, syllable));
  if (sounds.empty()) {
    const auto& [initial, sound] = initial_of(syllable);
    const std::string final = full_final(initial, std::string(syllable.substr(initial.size())));
    static constexpr std::array<std::string_view, 7> kSibilants{"zh", "ch", "sh", "r",
                                                                "z",  "c",  "s"};
    const bool buzzed = final == "i" && std::find(kSibilants.begin(), kSibilants.end(), initial) !=
                                            kSibilants.end();
    const std::string_view rest = buzzed ? "ɨ0" : found_in(kFinals, final);
    if (rest.empty()) return {};
    sounds = std::string(sound) + std::string(rest);
  }
  if (const size_t at = sounds.find('0'); at != sounds.npos) sounds.replace(at, 1, tone);
  return sounds;
}

}  // namespace syrinx::kokoro
