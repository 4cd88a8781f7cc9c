#include "families/kokoro/phonemes.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/ascii.h"
#include "families/zonos/phonemes.h"

namespace syrinx::kokoro {
namespace {

using Pair = std::pair<std::string_view, std::string_view>;

constexpr std::string_view kMarks = ";:,.!?—…\"()“”";

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != text.npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

const std::unordered_map<std::string_view, std::string_view>& sounds() {
  static const std::unordered_map<std::string_view, std::string_view> kSounds{
      {"b", "b"},  {"ch", "ʧ"}, {"d", "d"},  {"dh", "ð"}, {"f", "f"},   {"g", "ɡ"},  {"hh", "h"},
      {"jh", "ʤ"}, {"k", "k"},  {"l", "l"},  {"m", "m"},  {"n", "n"},   {"ng", "ŋ"}, {"p", "p"},
      {"r", "ɹ"},  {"s", "s"},  {"sh", "ʃ"}, {"t", "t"},  {"th", "θ"},  {"v", "v"},  {"w", "w"},
      {"y", "j"},  {"z", "z"},  {"zh", "ʒ"}, {"aa", "ɑ"}, {"ae", "æ"},  {"ah", "ʌ"}, {"ao", "ɔ"},
      {"aw", "W"}, {"ax", "ə"}, {"ay", "I"}, {"eh", "ɛ"}, {"er", "əɹ"}, {"ey", "A"}, {"ih", "ɪ"},
      {"iy", "i"}, {"ow", "O"}, {"oy", "Y"}, {"uh", "ʊ"}, {"uw", "u"}};
  return kSounds;
}

bool is_vowel(std::string_view phone) {
  return !phone.empty() && std::string_view("aeiou").find(phone[0]) != std::string_view::npos;
}
bool is_stressed(std::string_view phone) { return phone.ends_with('1'); }

/// Returns whether the phone is a [t] that becomes a flap. It follows a vowel or an r, and precedes
/// an unstressed vowel.
bool is_flap(std::span<const std::string_view> phones, size_t at) {
  if (phones[at] != "t" || at == 0 || at + 1 >= phones.size()) return false;
  const bool before = is_vowel(phones[at - 1]) || (phones[at - 1] == "r" && at > 1);
  if (at + 3 == phones.size() && phones[at + 1] == "ax" && phones.back() == "n") return false;
  return before && is_vowel(phones[at + 1]) && !is_stressed(phones[at + 1]);
}

/// Returns whether a schwa is not spoken before the next consonant: "little", "button".
bool is_swallowed(std::span<const std::string_view> phones, size_t at) {
  if (phones[at] != "ax" || at == 0 || at + 2 != phones.size() || is_vowel(phones[at - 1])) {
    return false;
  }
  const auto before_is = [&](std::initializer_list<std::string_view> names) {
    return std::find(names.begin(), names.end(), phones[at - 1]) != names.end();
  };
  if (phones.back() == "l") return !before_is({"r", "w", "y", "sh", "ch", "jh"});
  return phones.back() == "n" && before_is({"t", "d", "s", "z"});
}

/// Returns whether the vowel is the "e" of an ending that forms a syllable: "wanted", "houses".
bool is_ending(std::span<const std::string_view> phones, size_t at) {
  if (at < 2 || at + 2 != phones.size() || (phones[at] != "ih" && phones[at] != "ax")) return false;
  const std::string_view before = phones[at - 1], last = phones.back();
  if (last == "d") return before == "t" || before == "d";
  return last == "z" && (before == "s" || before == "z" || before == "sh" || before == "ch" ||
                         before == "zh" || before == "jh");
}

/// Returns the index of the vowel with the main stress, or -1 if no vowel has stress. libflite does
/// not distinguish stresses. With endings as in "alienation" and "activity", the last stress is the
/// main stress. In all other words, the first stress is the main one.
int64_t main_stress(std::span<const std::string_view> phones) {
  int64_t first = -1, last = -1;
  for (int64_t i = 0; i < std::ssize(phones); ++i) {
    if (!is_stressed(phones[static_cast<size_t>(i)])) continue;
    if (first < 0) first = i;
    last = i;
  }
  const auto ends = [&](std::initializer_list<std::string_view> tail) {
    if (phones.size() < tail.size()) return false;
    return std::equal(tail.begin(), tail.end(), phones.end() - std::ssize(tail));
  };
  const bool drawn = ends({"sh", "ax", "n"}) || ends({"zh", "ax", "n"}) || ends({"ih", "k"}) ||
                     ends({"t", "iy"}) || ends({"k", "ax", "l"}) || ends({"iy", "ax"}) ||
                     ends({"jh", "iy"}) || ends({"iy", "ax", "l"}) || ends({"iy", "ax", "n"});
  return drawn ? last : first;
}

/// Splits a piece into words of letters and apostrophes. Returns {} if it has other characters.
std::vector<std::string> written_words(std::string_view text) {
  std::vector<std::string> out(1);
  for (const std::string& c : characters(text)) {
    const char first = lower_ascii(c[0]);
    if (c == "\u2019" || c == "'") {
      out.back() += '\'';
    } else if (c.size() == 1 && first >= 'a' && first <= 'z') {
      out.back() += c;
    } else if (c == " " || c == "-" || kMarks.find(c) != kMarks.npos) {
      if (!out.back().empty()) out.emplace_back();
    } else {
      return {};
    }
  }
  if (out.back().empty()) out.pop_back();
  for (std::string& word : out) {  // this removes apostrophes that are quotation marks
    while (word.size() > 1 && word.front() == '\'') word.erase(0, 1);
  }
  return out;
}

bool all_known(const UsLexicon& lexicon, const std::vector<std::string>& words) {
  return !words.empty() && std::all_of(words.begin(), words.end(), [&](const std::string& word) {
    return lexicon.find(word, Follows::kPause).has_value();
  });
}

}  // namespace

std::vector<std::string> characters(std::string_view text) {
  std::vector<std::string> out;
  for (size_t at = 0; at < text.size();) {
    size_t size = 1;
    while (at + size < text.size() && (text[at + size] & 0xc0) == 0x80) ++size;
    out.emplace_back(text.substr(at, size));
    at += size;
  }
  return out;
}

std::string misaki_of_phones(std::span<const std::string_view> phones) {
  std::string out;
  const int64_t main = main_stress(phones);
  for (size_t i = 0; i < phones.size(); ++i) {
    std::string_view phone = phones[i];
    const bool stressed = is_stressed(phone);
    if (stressed) phone.remove_suffix(1);
    if (stressed) out += static_cast<int64_t>(i) == main ? kStress : kSecondStress;
    if (phone == "er" && stressed) {
      out += "ɜɹ";
    } else if (is_flap(phones, i)) {
      out += "T";
    } else if (is_swallowed(phones, i)) {
      out += "ᵊ";
    } else if (is_ending(phones, i)) {
      out += "ᵻ";
    } else if (const auto found = sounds().find(phone); found != sounds().end()) {
      out += found->second;
    }
  }
  return out;
}

std::vector<Spoken> english_words(const EnglishReader& reader, const finch::Sentence& sentence) {
  // The words of the sentence, with the marks before and after them.
  std::vector<Spoken> out;
  if (sentence.pieces.empty()) return out;
  const finch::Segment read = reader.frontend.read_part(sentence, 0, sentence.pieces.size(), true);
  std::vector<std::vector<std::vector<std::string_view>>> words(sentence.pieces.size());
  int32_t last = -1;
  for (const finch::PhoneSymbol& symbol : read.symbols) {
    if (symbol.word < 0 || symbol.token < 0) continue;
    auto& piece = words[static_cast<size_t>(symbol.token)];
    if (piece.empty() || symbol.word != last) piece.emplace_back();
    last = symbol.word;
    piece.back().push_back(finch::phone_names()[static_cast<size_t>(symbol.phone)]);
  }
  // Goes backwards, because the pronunciation of a word depends on the words after it.
  Follows next = Follows::kPause;
  bool to = false;
  const auto add = [&](const finch::Piece& piece, std::string phonemes, bool word) {
    next = follows(phonemes, next);
    out.push_back({std::move(phonemes), piece.begin, piece.end, word, word});
  };
  for (size_t p = words.size(); p-- > 0;) {
    const finch::Piece& piece = sentence.pieces[p];
    std::vector<std::string> behind;  // marks that follow the word
    for (std::string& c : characters(piece.text)) {
      if (kMarks.find(c) == kMarks.npos) {
        behind.clear();
      } else {
        behind.push_back(std::move(c));
      }
    }
    for (size_t i = behind.size(); i-- > 0;) add(piece, std::move(behind[i]), false);
    std::vector<std::string> written;
    if (piece.phones.empty()) written = written_words(piece.text);
    const bool tied = written.size() == words[p].size();
    if (!tied && !all_known(reader.lexicon, written)) written.assign(words[p].size(), "");
    for (size_t i = written.size(); i-- > 0;) {
      std::optional<std::string> said;
      if (!written[i].empty()) said = reader.lexicon.find(written[i], next, to);
      to = lower_ascii(written[i]) == "to";
      add(piece, said ? *said : misaki_of_phones(words[p][i]), true);
    }
  }
  std::reverse(out.begin(), out.end());
  if (!out.empty()) out.front().space = false;
  return out;
}

std::string misaki_of_espeak(std::string ipa, std::string_view voice) {
  // espeak-ng runs without ties, so affricates and diphthongs consist of two letters.
  static constexpr std::array<Pair, 11> kAll{{{"aɪ", "I"},
                                              {"aʊ", "W"},
                                              {"dz", "ʣ"},
                                              {"dʒ", "ʤ"},
                                              {"eɪ", "A"},
                                              {"oʊ", "O"},
                                              {"əʊ", "Q"},
                                              {"ts", "ʦ"},
                                              {"tʃ", "ʧ"},
                                              {"ɔɪ", "Y"},
                                              {"-", ""}}};
  static constexpr std::array<Pair, 8> kBritish{{{"eə", "ɛː"},
                                                 {"iə", "ɪə"},
                                                 {"əl", "ᵊl"},
                                                 {"ɐ", "ə"},
                                                 {"x", "k"},
                                                 {"r", "ɹ"},
                                                 {"ɾ", "T"},
                                                 {"ʔ", "t"}}};
  for (const auto& [from, to] : kAll) replace_all(ipa, from, to);
  if (voice == "en-gb") {
    for (const auto& [from, to] : kBritish) replace_all(ipa, from, to);
  }
  return ipa;
}

Result<std::vector<Spoken>> espeak_words(std::string_view text, int64_t offset,
                                         std::string_view voice) {
  Result<std::string> read = zonos::espeak_phonemes(text, voice);
  if (!read.ok()) return read.error();
  // Spaces separate the words of the text, and of its phonemes. If both counts are equal, each
  // spoken word gets the bytes of its written word; otherwise, the bytes of the sentence.
  std::vector<std::pair<size_t, size_t>> written;
  for (size_t at = text.find_first_not_of(" \t\r\n"); at < text.size();) {
    const size_t end = std::min(text.find_first_of(" \t\r\n", at), text.size());
    written.emplace_back(at, end);
    at = text.find_first_not_of(" \t\r\n", end);
  }
  const std::string phonemes = misaki_of_espeak(read.take(), voice);
  std::vector<std::string> groups(1);
  for (const std::string& c : characters(phonemes)) {
    if (c == " " || c == "\n") {
      if (!groups.back().empty()) groups.emplace_back();
    } else {
      groups.back() += c;
    }
  }
  if (groups.back().empty()) groups.pop_back();
  const bool aligned = groups.size() == written.size();
  std::vector<Spoken> out;
  for (size_t g = 0; g < groups.size(); ++g) {
    const int64_t begin = offset + static_cast<int64_t>(aligned ? written[g].first : 0);
    const int64_t end = offset + static_cast<int64_t>(aligned ? written[g].second : text.size());
    bool space = !out.empty();
    std::string word;
    const auto add = [&](std::string part, bool is_word) {
      if (part.empty()) return;
      out.push_back({std::move(part), begin, end, is_word, space});
      space = false;
    };
    for (const std::string& c : characters(groups[g])) {
      if (kMarks.find(c) == kMarks.npos) {
        word += c;
      } else {
        add(std::exchange(word, {}), true);
        add(c, false);
      }
    }
    add(word, true);
  }
  return out;
}

}  // namespace syrinx::kokoro
