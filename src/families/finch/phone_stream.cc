#include "families/finch/phone_stream.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <map>
#include <string>
#include <unordered_map>

namespace syrinx::finch {
namespace {

constexpr std::array<std::string_view, 24> kConsonants = {
    "b",  "ch", "d", "dh", "f",  "g", "hh", "jh", "k", "l", "m", "n",
    "ng", "p",  "r", "s",  "sh", "t", "th", "v",  "w", "y", "z", "zh"};
constexpr std::array<std::string_view, 32> kVowels = {
    "aa",  "aa1", "ae",  "ae1", "ah",  "ah1", "ao",  "ao1", "aw",  "aw1", "ax",
    "ax1", "ay",  "ay1", "eh",  "eh1", "er",  "er1", "ey",  "ey1", "ih",  "ih1",
    "iy",  "iy1", "ow",  "ow1", "oy",  "oy1", "uh",  "uh1", "uw",  "uw1"};
constexpr std::array<std::string_view, 4> kPauses = {"pau.start", "pau.mid", "pau.end", "pau.rise"};

enum PhraseKind { kMiddle = 0, kFinal = 1, kRising = 2 };

/// The place of a syllable, computed once per utterance and looked up for each phone.
struct SyllablePlace {
  int from_start = 0;  ///< syllables before it in its phrase
  int to_end = 0;      ///< syllables after it in its phrase
  PhraseKind kind = kMiddle;
};

int phone_id(std::string_view name, bool stressed) {
  static const auto* const ids = [] {
    auto* table = new std::unordered_map<std::string_view, int>;
    const auto& names = phone_names();
    for (size_t i = 0; i < names.size(); ++i) table->emplace(names[i], static_cast<int>(i));
    return table;
  }();
  if (stressed) {
    const auto it = ids->find(std::string(name) + "1");
    if (it != ids->end()) return it->second;
  }
  const auto it = ids->find(name);
  return it == ids->end() ? ids->at("ax") : it->second;
}

std::map<const void*, int> item_index(const cst_utterance* utterance, const char* relation) {
  std::map<const void*, int> index;
  cst_relation* rel = utt_relation(const_cast<cst_utterance*>(utterance), relation);
  int n = 0;
  for (const cst_item* item = relation_head(rel); item != nullptr; item = item_next(item)) {
    index.emplace(item->contents, n++);
  }
  return index;
}

std::map<const void*, SyllablePlace> syllable_places(const cst_utterance* utterance,
                                                     bool rising_end) {
  std::map<const void*, SyllablePlace> places;
  cst_relation* phrases = utt_relation(const_cast<cst_utterance*>(utterance), "Phrase");
  for (const cst_item* phrase = relation_head(phrases); phrase; phrase = item_next(phrase)) {
    std::vector<const void*> syllables;
    for (const cst_item* word = item_daughter(phrase); word; word = item_next(word)) {
      const cst_item* tree = item_as(word, "SylStructure");
      for (const cst_item* s = tree ? item_daughter(tree) : nullptr; s; s = item_next(s)) {
        syllables.push_back(s->contents);
      }
    }
    const bool last = item_next(phrase) == nullptr;
    const PhraseKind kind = !last ? kMiddle : rising_end ? kRising : kFinal;
    const int n = static_cast<int>(syllables.size());
    for (int i = 0; i < n; ++i) places[syllables[i]] = {i, n - 1 - i, kind};
  }
  return places;
}

PhoneSymbol pause_symbol(bool first, bool last, bool rising_end) {
  PhoneSymbol symbol;
  const std::string_view name = first        ? "pau.start"
                                : !last      ? "pau.mid"
                                : rising_end ? "pau.rise"
                                             : "pau.end";
  symbol.phone = static_cast<int16_t>(phone_id(name, false));
  const int kind = !last ? kMiddle : rising_end ? kRising : kFinal;
  symbol.phrase = static_cast<int16_t>(1 + kind * 4);
  symbol.place = kPlaceClasses - 1;
  return symbol;
}

/// Returns the place of a syllable in its word: 0 first, 1 middle, 2 last, 3 only syllable.
int place_in_word(const cst_item* syllable) {
  const bool first = item_prev(syllable) == nullptr;
  const bool last = item_next(syllable) == nullptr;
  return first && last ? 3 : first ? 0 : last ? 2 : 1;
}

bool is_content_word(const cst_item* word) {
  const char* gpos = ffeature_string(word, "gpos");
  return gpos == nullptr || std::strcmp(gpos, "content") == 0;
}

}  // namespace

const std::vector<std::string_view>& phone_names() {
  static const auto* const names = [] {
    auto* all = new std::vector<std::string_view>;
    all->push_back("pad");
    for (const auto name : kPauses) all->push_back(name);
    for (const auto name : kConsonants) all->push_back(name);
    for (const auto name : kVowels) all->push_back(name);
    return all;
  }();
  return *names;
}

void make_strong(std::span<PhoneSymbol> word) {
  constexpr int kBefore = 60, kStressed = 300, kBehind = 120;  // lift in cents
  const auto name = [](const PhoneSymbol& symbol) { return phone_names()[symbol.phone]; };
  const auto is_vowel = [&](const PhoneSymbol& symbol) {
    return std::find(kVowels.begin(), kVowels.end(), name(symbol)) != kVowels.end();
  };
  const auto is_stressed = [&](const PhoneSymbol& s) { return name(s).back() == '1'; };
  for (PhoneSymbol& symbol : word) {
    if (symbol.place % 2 == 1) ++symbol.place;  // classes with a content word are even
  }
  auto peak = std::find_if(word.rbegin(), word.rend(), is_stressed);
  if (peak == word.rend()) {
    const auto first = std::find_if(word.begin(), word.end(), is_vowel);
    if (first == word.end()) return;
    // A schwa cannot have an accent, so "a" and "the" get the vowel of "cup" instead.
    const std::string_view vowel = name(*first) == "ax" ? "ah" : name(*first);
    first->phone = static_cast<int16_t>(phone_id(vowel, true));
    peak = std::make_reverse_iterator(first + 1);
  }
  // The range of the syllable: its vowel, with the consonants up to the neighbouring vowels.
  const auto before = std::find_if(peak + 1, word.rend(), is_vowel).base();
  const auto behind = std::find_if(peak.base(), word.end(), is_vowel);
  for (auto symbol = word.begin(); symbol != word.end(); ++symbol) {
    const int cents = symbol < before ? kBefore : symbol < behind ? kStressed : kBehind;
    symbol->lift = static_cast<int16_t>(cents);
  }
}

void keep_near_phrases(std::vector<PhoneSymbol>& symbols, bool whole) {
  bool ends = whole;
  int32_t last = -1;  // the last word of the phrase, once found
  for (size_t i = symbols.size(); i-- > 0;) {
    PhoneSymbol& symbol = symbols[i];
    if (symbol.word < 0) {
      ends = ends || i + 1 < symbols.size();
      last = -1;
      continue;
    }
    if (last < 0) last = symbol.word;
    if (!ends || last > symbol.word + 1) symbol.phrase = kUnknownPhrase;
  }
}

std::vector<PhoneSymbol> phone_stream(const cst_utterance* utterance, bool rising_end) {
  auto* utt = const_cast<cst_utterance*>(utterance);  // libflite's functions do not accept const
  const auto words = item_index(utterance, "Word");
  const auto tokens = item_index(utterance, "Token");
  const auto places = syllable_places(utterance, rising_end);
  std::vector<PhoneSymbol> stream;
  cst_relation* segments = utt_relation(utt, "Segment");
  for (const cst_item* seg = relation_head(segments); seg; seg = item_next(seg)) {
    const cst_item* leaf = item_as(seg, "SylStructure");
    const cst_item* syllable = leaf ? item_parent(leaf) : nullptr;
    const cst_item* word = syllable ? item_parent(syllable) : nullptr;
    if (word == nullptr) {
      stream.push_back(pause_symbol(stream.empty(), item_next(seg) == nullptr, rising_end));
      continue;
    }
    PhoneSymbol symbol;
    const bool stressed = std::strcmp(ffeature_string(syllable, "stress"), "1") == 0;
    symbol.phone = static_cast<int16_t>(phone_id(item_feat_string(seg, "name"), stressed));
    const auto found = places.find(syllable->contents);
    const SyllablePlace place = found == places.end() ? SyllablePlace{} : found->second;
    symbol.phrase = static_cast<int16_t>(1 + place.kind * 4 + std::min(place.to_end, 3));
    symbol.place =
        static_cast<int16_t>(1 + std::min(place.from_start, 2) * 8 + place_in_word(syllable) * 2 +
                             (is_content_word(word) ? 1 : 0));
    const auto word_at = words.find(word->contents);
    symbol.word = word_at == words.end() ? -1 : word_at->second;
    const cst_item* token = item_as(word, "Token");
    const cst_item* owner = token ? item_parent(token) : nullptr;
    const auto token_at = owner ? tokens.find(owner->contents) : tokens.end();
    symbol.token = token_at == tokens.end() ? -1 : token_at->second;
    stream.push_back(symbol);
  }
  return stream;
}

}  // namespace syrinx::finch
