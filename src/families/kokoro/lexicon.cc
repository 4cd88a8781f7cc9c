#include "families/kokoro/lexicon.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "families/kokoro/packed.h"
#include "families/kokoro/phonemes.h"

namespace syrinx::kokoro {
namespace {

constexpr std::string_view kVowels = "AIOQWYaiuæɑɒɔəɛɜɪʊʌᵻ";
constexpr std::string_view kConsonants = "bdfhjklmnpstvwzðŋɡɹɾʃʒʤʧθT";
constexpr std::string_view kPauses = ";:,.!?—…";
constexpr std::string_view kBarred = "ᵻ", kFlap = "ɾ";

bool is_one_of(std::string_view character, std::string_view set) {
  return !character.empty() && set.find(character) != set.npos;
}

/// Returns the last character of a valid UTF-8 text, and the text before it, in this order.
std::pair<std::string_view, std::string_view> last_of(std::string_view text) {
  size_t at = text.size();
  while (at > 0 && (text[--at] & 0xc0) == 0x80) {
  }
  return {text.substr(at), text.substr(0, at)};
}

/// Inserts the mark before the first vowel.
std::string stressed(std::string_view phonemes, std::string_view mark) {
  std::string out;
  bool marked = false;
  for (const std::string& c : characters(phonemes)) {
    if (!marked && is_one_of(c, kVowels)) out += mark, marked = true;
    out += c;
  }
  return out;
}

/// Applies misaki's apply_stress: with stress 2 to words in capitals, 0.5 to words with a capital.
std::string stressed_as_written(std::string phonemes, std::string_view word) {
  if (word == lower_ascii(word)) return phonemes;
  const bool capitals =
      std::none_of(word.begin(), word.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  if (phonemes.find(kStress) != phonemes.npos) return phonemes;
  const size_t second = phonemes.find(kSecondStress);
  if (second == phonemes.npos) return stressed(phonemes, capitals ? kStress : kSecondStress);
  if (capitals) phonemes.replace(second, kSecondStress.size(), kStress);
  return phonemes;
}

/// Converts phonemes to the alphabet of the model's first version, in which flaps and glottal stops
/// have their own letters.
std::string first_version(std::string phonemes) {
  for (const auto& [from, to] :
       {std::pair<std::string_view, std::string_view>{kFlap, "T"}, {"ʔ", "t"}}) {
    for (size_t at = 0; (at = phonemes.find(from, at)) != phonemes.npos; at += to.size()) {
      phonemes.replace(at, from.size(), to);
    }
  }
  return phonemes;
}

/// Returns whether the stem ends in a [t] that becomes a flap before a vowel. That is so if a vowel
/// or an r precedes the [t].
bool ends_in_flap(std::string_view stem) {
  const auto [last, rest] = last_of(stem);
  return last == "t" && is_one_of(last_of(rest).first, "AIOWYiuæɑəɛɪɹʊʌ");
}

std::string with_s(const std::string& stem) {
  const std::string_view last = last_of(stem).first;
  if (is_one_of(last, "ptkfθ")) return stem + "s";
  if (is_one_of(last, "szʃʒʧʤ")) return stem + std::string(kBarred) + "z";
  return stem + "z";
}

std::string with_ed(const std::string& stem) {
  const auto [last, rest] = last_of(stem);
  if (is_one_of(last, "pkfθʃsʧ")) return stem + "t";
  if (last != "d" && last != "t") return stem + "d";
  if (last == "t" && rest.empty()) return stem + "ɪd";
  const bool flap = ends_in_flap(stem);
  return (flap ? std::string(rest) + std::string(kFlap) : stem) + std::string(kBarred) + "d";
}

std::string with_ing(const std::string& stem) {
  if (!ends_in_flap(stem)) return stem + "ɪŋ";
  return std::string(last_of(stem).second) + std::string(kFlap) + "ɪŋ";
}

/// Returns whether an ending of three letters follows "ck" or a double consonant: "picking",
/// "running".
bool is_doubled(std::string_view word) {
  const std::string_view stem = word.substr(0, word.size() - 3);
  if (stem.size() < 2) return false;
  const char last = stem.back(), before = stem[stem.size() - 2];
  return (last == before && is_one_of({&last, 1}, "bcdgklmnprstvxz")) || stem.ends_with("ck");
}

/// Returns the column with this index. Empty if the line has fewer columns.
std::string_view column(std::string_view columns, int index) {
  for (; index > 0; --index) {
    const size_t tab = columns.find('\t');
    if (tab == columns.npos) return {};
    columns.remove_prefix(tab + 1);
  }
  return columns.substr(0, columns.find('\t'));
}

/// Returns the phonemes of a small word such as "the", which may depend on the next sound. Empty
/// for other words.
std::string small_word(std::string_view word, Follows next) {
  const bool pause = next == Follows::kPause, vowel = next == Follows::kVowel;
  if (word == "I") return "ˌI";
  const std::string lower = lower_ascii(word);
  if (lower == "a") return pause ? "ˈA" : "ɐ";
  if (lower == "an") return "ɐn";
  if (lower == "the") return vowel ? "ði" : "ðə";
  if (word == "TO" || word == "IN") return "";
  if (lower == "to" && !pause) return vowel ? "tʊ" : "tə";
  if (lower == "in") return pause ? "ˈɪn" : "ɪn";
  if (word == "am" && !pause) return "ɐm";
  return "";
}

}  // namespace

Follows follows(std::string_view phonemes, Follows later) {
  for (const std::string& c : characters(phonemes)) {
    if (is_one_of(c, kPauses)) return Follows::kPause;
    if (is_one_of(c, kVowels)) return Follows::kVowel;
    if (is_one_of(c, kConsonants)) return Follows::kConsonant;
  }
  return later;
}

UsLexicon::UsLexicon() {
  const std::string packed = unpacked(packed_us_lexicon());
  text_.reserve(2 * packed.size());
  std::string word;
  for (size_t at = 0; at < packed.size();) {
    const size_t end = packed.find('\n', at), tab = packed.find('\t', at);
    word.resize(static_cast<size_t>(packed[at] - '0'));
    word.append(packed, at + 1, tab - at - 1);
    Entry entry;
    entry.word = static_cast<uint32_t>(text_.size());
    entry.word_size = static_cast<uint16_t>(word.size());
    text_ += word;
    entry.phonemes = static_cast<uint32_t>(text_.size());
    entry.phonemes_size = static_cast<uint16_t>(end - tab - 1);
    text_.append(packed, tab + 1, end - tab - 1);
    words_.push_back(entry);
    at = end + 1;
  }
}

/// Returns all columns of a word in this exact spelling. Empty if the lexicon lacks it.
std::string_view UsLexicon::columns_of(std::string_view word) const {
  const std::string_view text = text_;
  const auto found = std::lower_bound(words_.begin(), words_.end(), word,
                                      [&](const Entry& entry, std::string_view wanted) {
                                        return text.substr(entry.word, entry.word_size) < wanted;
                                      });
  if (found == words_.end() || text.substr(found->word, found->word_size) != word) return {};
  return text.substr(found->phonemes, found->phonemes_size);
}

/// Looks up a word in its own spelling, then in small letters, then with a capital.
std::string_view UsLexicon::columns_in_any_case(std::string_view word) const {
  std::string_view columns = columns_of(word);
  if (!columns.empty() || word.size() < 2) return columns;
  const std::string lower = lower_ascii(word);
  std::string capital = lower;
  if (capital[0] >= 'a' && capital[0] <= 'z')
    capital[0] = static_cast<char>(capital[0] - 'a' + 'A');
  if (word == capital) return columns_of(lower);
  if (word == lower) return columns_of(capital);
  columns = columns_of(lower);  // `word` is written in capitals
  return columns.empty() ? columns_of(capital) : columns;
}

std::string UsLexicon::look_up(std::string_view word, Follows next, bool to) const {
  const std::string_view columns = columns_in_any_case(word);
  const std::string_view before_to = to ? column(columns, 2) : std::string_view();
  const std::string_view before_pause =
      next == Follows::kPause ? column(columns, 1) : std::string_view();
  if (!before_to.empty()) return std::string(before_to);
  return std::string(before_pause.empty() ? column(columns, 0) : before_pause);
}

std::string UsLexicon::known(std::string_view word, Follows next, bool to) const {
  if (has(word)) return look_up(word, next, to);
  if (word.ends_with("'") && has(word.substr(0, word.size() - 1))) {
    return look_up(word.substr(0, word.size() - 1), next, to);
  }
  return "";
}

/// Returns the phonemes of a word that is a known stem with -s, -ed or -ing.
std::string UsLexicon::with_ending(std::string_view word, Follows next) const {
  const auto stem = [&](size_t cut, std::string_view added = "") {
    return std::string(word.substr(0, word.size() - cut)) + std::string(added);
  };
  const size_t size = word.size();
  const auto first_known = [&](std::initializer_list<std::pair<bool, std::string>> stems) {
    for (const auto& [fits, each] : stems) {
      if (fits && has(each)) return look_up(each, next, false);
    }
    return std::string();
  };
  if (size >= 3 && word.ends_with('s')) {
    const bool es =
        word.ends_with("'s") || (size > 4 && word.ends_with("es") && !word.ends_with("ies"));
    const std::string said = first_known({{!word.ends_with("ss"), stem(1)},
                                          {es, stem(2)},
                                          {size > 4 && word.ends_with("ies"), stem(3, "y")}});
    if (!said.empty()) return with_s(said);
  }
  if (size >= 4 && word.ends_with('d')) {
    const bool ed = size > 4 && word.ends_with("ed") && !word.ends_with("eed");
    const std::string said = first_known({{!word.ends_with("dd"), stem(1)}, {ed, stem(2)}});
    if (!said.empty()) return with_ed(said);
  }
  if (size >= 5 && word.ends_with("ing")) {
    const std::string said = first_known(
        {{size > 5, stem(3)}, {true, stem(3, "e")}, {size > 5 && is_doubled(word), stem(4)}});
    if (!said.empty()) return with_ing(said);
  }
  return "";
}

std::optional<std::string> UsLexicon::find(std::string_view word, Follows next, bool to) const {
  if (std::string small = small_word(word, next); !small.empty()) return small;
  std::string said = known(word, next, to);
  if (said.empty()) said = with_ending(lower_ascii(word), next);
  if (said.empty()) return {};
  return first_version(stressed_as_written(std::move(said), word));
}

}  // namespace syrinx::kokoro
