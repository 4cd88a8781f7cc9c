#include "families/kokoro/kana.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "families/kokoro/written.h"

namespace syrinx::kokoro {
namespace {

// Pairs of kana and phonemes. The kana is one character, or two that form one sound.
constexpr std::string_view kSounds =
    "ぁ a あ a ぃ i い i ぅ ɯ う ɯ ぇ e え e ぉ o お o か ka が ɡa き kʲi ぎ ɡʲi く kɯ ぐ ɡɯ け ke "
    "げ ɡe こ ko ご ɡo さ sa ざ ʣa し ɕi じ ʥi す sɨ ず zɨ せ se ぜ ʣe そ so ぞ ʣo た ta だ da "
    "ち ʨi ぢ ʥi つ ʦɨ づ zɨ て te で de と to ど do な na に ɲi ぬ nɯ ね ne の no は ha ば ba "
    "ぱ pa ひ çi び bʲi ぴ pʲi ふ ɸɯ ぶ bɯ ぷ pɯ へ he べ be ぺ pe ほ ho ぼ bo ぽ po ま ma み mʲi "
    "む mɯ め me も mo ゃ ja や ja ゅ jɯ ゆ jɯ ょ jo よ jo ら ɾa り ɾʲi る ɾɯ れ ɾe ろ ɾo ゎ βa "
    "わ βa ゐ i ゑ e を o ゔ vɯ ゕ ka ゖ ke ヷ va ヸ vʲi ヹ ve ヺ vo いぇ je うぃ βi うぇ βe うぉ "
    "βo "
    "きぇ kʲe きゃ kʲa きゅ kʲɨ きょ kʲo ぎゃ ɡʲa ぎゅ ɡʲɨ ぎょ ɡʲo くぁ kᵝa くぃ kᵝi くぇ kᵝe "
    "くぉ kᵝo "
    "ぐぁ ɡᵝa ぐぃ ɡᵝi ぐぇ ɡᵝe ぐぉ ɡᵝo しぇ ɕe しゃ ɕa しゅ ɕɨ しょ ɕo じぇ ʥe じゃ ʥa じゅ ʥɨ "
    "じょ ʥo "
    "ちぇ ʨe ちゃ ʨa ちゅ ʨɨ ちょ ʨo ぢゃ ʥa ぢゅ ʥɨ ぢょ ʥo つぁ ʦa つぃ ʦʲi つぇ ʦe つぉ ʦo てぃ "
    "tʲi "
    "てゅ tʲɨ でぃ dʲi でゅ dʲɨ とぅ tɯ どぅ dɯ にぇ ɲe にゃ ɲa にゅ ɲɨ にょ ɲo ひぇ çe ひゃ ça "
    "ひゅ çɨ "
    "ひょ ço びゃ bʲa びゅ bʲɨ びょ bʲo ぴゃ pʲa ぴゅ pʲɨ ぴょ pʲo ふぁ ɸa ふぃ ɸʲi ふぇ ɸe ふぉ "
    "ɸo "
    "ふゅ ɸʲɨ ふょ ɸʲo みゃ mʲa みゅ mʲɨ みょ mʲo りゃ ɾʲa りゅ ɾʲɨ りょ ɾʲo ゔぁ va ゔぃ vʲi ゔぇ "
    "ve "
    "ゔぉ vo ゔゅ bʲɨ ゔょ bʲo ゚  ゙  ";

using KanaSounds = std::unordered_map<std::u32string, std::string>;

const KanaSounds& kana_sounds() {
  static const KanaSounds kKana = [] {
    KanaSounds out;
    std::string_view rest = kSounds;
    const auto word = [&] {
      const size_t end = rest.find(' ');
      const std::string_view found = rest.substr(0, end);
      rest.remove_prefix(end + 1);
      return found;
    };
    while (!rest.empty()) {
      const std::u32string kana = utf32_of(word());
      out.emplace(kana, word());
    }
    return out;
  }();
  return kKana;
}

const std::string* sound_of(std::u32string_view kana) {
  const auto found = kana_sounds().find(std::u32string(kana));
  return found == kana_sounds().end() ? nullptr : &found->second;
}

bool is_small(char32_t c) { return is_one_of(c, U"ゃゅょぁぃぅぇぉ"); }

/// Returns the phonemes without their last character.
std::string_view without_vowel(std::string_view phonemes) {
  while (!phonemes.empty() && (phonemes.back() & 0xc0) == 0x80) phonemes.remove_suffix(1);
  if (!phonemes.empty()) phonemes.remove_suffix(1);
  return phonemes;
}

/// Returns the sound of ん, which depends on the next sound.
std::string_view nasal_before(const std::string* next) {
  if (next == nullptr) return "ɴ";
  const auto begins = [&](std::initializer_list<std::string_view> sounds) {
    return std::any_of(sounds.begin(), sounds.end(),
                       [&](std::string_view sound) { return next->starts_with(sound); });
  };
  if (begins({"m", "p", "b"})) return "m";
  if (begins({"k", "ɡ"})) return "ŋ";
  if (begins({"ɲ", "ʨ", "ʥ"})) return "ɲ";
  return begins({"n", "t", "d", "ɾ", "z"}) ? "n" : "ɴ";
}

/// Returns the phonemes of the kana at `at`. If two kana form one sound, the second one has the
/// phonemes of the sound, and the first one has none.
std::string sound_at(std::u32string_view kana, size_t at) {
  const char32_t c = kana[at];
  const char32_t next = at + 1 < kana.size() ? kana[at + 1] : 0;
  if (at > 0) {
    if (const std::string* both = sound_of(kana.substr(at - 1, 2))) return *both;
  }
  if (next != 0 && sound_of(kana.substr(at, 2)) != nullptr) return {};
  const std::string* single = sound_of(kana.substr(at, 1));
  if (next != 0 && is_small(next)) {
    if (single == nullptr) return {};
    return std::string(without_vowel(*single)) + *sound_of(kana.substr(at + 1, 1));
  }
  if (is_small(c)) return {};
  if (c == U'ー') return "ː";
  if (c == U'っ') return "ʔ";
  if (c == U'ん') {
    return std::string(nasal_before(next == 0 ? nullptr : sound_of(kana.substr(at + 1, 1))));
  }
  return single == nullptr ? std::string() : *single;
}

constexpr std::array<std::u32string_view, 10> kKanaDigits{
    U"ゼロ", U"いち", U"に", U"さん", U"よん", U"ご", U"ろく", U"なな", U"はち", U"きゅう"};
constexpr std::array<std::u32string_view, 10> kHundreds{
    U"",         U"ひゃく",     U"にひゃく",   U"さんびゃく", U"よんひゃく",
    U"ごひゃく", U"ろっぴゃく", U"ななひゃく", U"はっぴゃく", U"きゅうひゃく"};
constexpr std::array<std::u32string_view, 10> kThousands{
    U"",       U"せん",     U"にせん",   U"さんぜん", U"よんせん",
    U"ごせん", U"ろくせん", U"ななせん", U"はっせん", U"きゅうせん"};
constexpr std::array<std::u32string_view, 4> kMyriads{U"", U"まん", U"おく", U"ちょう"};
constexpr size_t kMostKanaDigits = 16;

/// Reads four digits. `alone`: no digits come before them, and no unit comes after them.
std::u32string four_in_kana(std::string_view digits, bool alone) {
  std::array<size_t, 4> d{};
  for (size_t i = 0; i < digits.size(); ++i) {
    d[4 - digits.size() + i] = static_cast<size_t>(digits[i] - '0');
  }
  std::u32string out;
  if (d[0] == 1 && !alone) {
    out += U"いっせん";
  } else {
    out += kThousands[d[0]];
  }
  out += kHundreds[d[1]];
  if (d[2] > 1) out += kKanaDigits[d[2]];
  if (d[2] > 0) out += U"じゅう";
  if (d[3] > 0) out += kKanaDigits[d[3]];
  return out;
}

std::u32string whole_in_kana(std::string_view digits) {
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  if (digits.empty()) return std::u32string(kKanaDigits[0]);
  std::u32string out;
  if (digits.size() > kMostKanaDigits) {
    for (const char c : digits) out += kKanaDigits[static_cast<size_t>(c - '0')];
    return out;
  }
  for (size_t group = (digits.size() + 3) / 4; group-- > 0;) {
    const size_t end = digits.size() - 4 * group, begin = end > 4 ? end - 4 : 0;
    const std::u32string said = four_in_kana(digits.substr(begin, end - begin), digits.size() <= 4);
    if (said.empty()) continue;
    // Before 兆 the number one is いっ.
    out += group == 3 && said == kKanaDigits[1] ? U"いっ" : said;
    out += kMyriads[group];
  }
  return out;
}

}  // namespace

bool is_kana(char32_t c) {
  return (c >= U'ぁ' && c <= U'ゖ') || (c >= U'ァ' && c <= U'ヺ') || c == U'ー';
}

std::u32string hiragana(std::u32string_view kana) {
  std::u32string out;
  for (const char32_t c : kana) out += c >= U'ァ' && c <= U'ヶ' ? c - (U'ァ' - U'ぁ') : c;
  return out;
}

std::string kana_phonemes(std::u32string_view hiragana) {
  std::string out;
  for (size_t at = 0; at < hiragana.size(); ++at) out += sound_at(hiragana, at);
  return out;
}

std::u32string with_long_vowels(std::u32string_view hiragana) {
  std::u32string out;
  for (const char32_t c : hiragana) {
    const std::string* sound = out.empty() ? nullptr : sound_of(std::u32string(1, out.back()));
    const auto after = [&](std::initializer_list<std::string_view> vowels) {
      return sound != nullptr && std::any_of(vowels.begin(), vowels.end(), [&](std::string_view v) {
               return sound->ends_with(v);
             });
    };
    const bool drawn = (c == U'う' && after({"o", "ɯ", "ɨ"})) ||
                       (c == U'い' && after({"e", "i"})) || (c == U'あ' && after({"a"})) ||
                       (c == U'お' && after({"o"}));
    out += drawn ? U'ー' : c;
  }
  return out;
}

std::u32string number_in_kana(std::string_view digits) {
  const size_t point = digits.find('.');
  if (point == digits.npos) return whole_in_kana(digits);
  std::u32string out = whole_in_kana(digits.substr(0, point)).append(U"てん");
  for (const char c : digits.substr(point + 1)) out += kKanaDigits[static_cast<size_t>(c - '0')];
  return out;
}

}  // namespace syrinx::kokoro
