#include "hts_label.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace {

struct Phrase {
  int first_word = 0, words = 0, first_syllable = 0, syllables = 0;
  const char* endtone = "0";
};
struct Word {
  int phrase = 0, first_syllable = 0, syllables = 0;
  std::string gpos = "0";
  bool content() const { return gpos == "content"; }
};
struct Syllable {
  int word = 0, phrase = 0, phones = 0;
  bool stress = false, accent = false;
  std::string vowel = "novowel";
};
struct Segment {
  std::string name;
  int syllable = -1, place = 0;  // -1 means a pause
};

/// An utterance as lists. Their items refer to each other by index.
struct Utterance {
  std::vector<Phrase> phrases;
  std::vector<Word> words;
  std::vector<Syllable> syllables;
  std::vector<Segment> segments;
};

bool is_vowel(const std::string& phone) {
  return !phone.empty() && std::strchr("aeiou", phone[0]) != nullptr;
}

Utterance flattened(const cst_utterance* utterance, bool rising) {
  auto* utt = const_cast<cst_utterance*>(
      utterance);  // libflite's reading functions need a non-const pointer
  Utterance all;
  std::map<const void*, std::pair<int, int>> phone_at;  // the syllable, and the position in it
  for (const cst_item* phrase = relation_head(utt_relation(utt, "Phrase")); phrase;
       phrase = item_next(phrase)) {
    Phrase p{.first_word = static_cast<int>(all.words.size()),
             .first_syllable = static_cast<int>(all.syllables.size())};
    for (const cst_item* word = item_daughter(phrase); word; word = item_next(word)) {
      Word w{.phrase = static_cast<int>(all.phrases.size()),
             .first_syllable = static_cast<int>(all.syllables.size()),
             .gpos = ffeature_string(word, "gpos")};
      const cst_item* tree = item_as(word, "SylStructure");
      for (const cst_item* s = tree ? item_daughter(tree) : nullptr; s; s = item_next(s)) {
        Syllable syllable{.word = static_cast<int>(all.words.size()), .phrase = w.phrase};
        syllable.stress = std::strcmp(ffeature_string(s, "stress"), "1") == 0;
        syllable.accent = std::strcmp(ffeature_string(s, "accented"), "1") == 0;
        for (const cst_item* seg = item_daughter(s); seg; seg = item_next(seg)) {
          const std::string name = item_feat_string(seg, "name");
          if (is_vowel(name)) syllable.vowel = name;
          phone_at[seg->contents] = {static_cast<int>(all.syllables.size()), syllable.phones++};
        }
        all.syllables.push_back(syllable);
        ++w.syllables;
      }
      all.words.push_back(w);
      ++p.words;
      p.syllables += w.syllables;
    }
    const bool last = item_next(phrase) == nullptr;
    p.endtone = !last ? "L-H%" : rising ? "H-H%" : "L-L%";
    all.phrases.push_back(p);
  }
  for (const cst_item* seg = relation_head(utt_relation(utt, "Segment")); seg;
       seg = item_next(seg)) {
    Segment segment{.name = item_feat_string(seg, "name")};
    const auto found = phone_at.find(seg->contents);
    if (found != phone_at.end()) {
      segment.syllable = found->second.first;
      segment.place = found->second.second;
    }
    all.segments.push_back(segment);
  }
  return all;
}

std::string number(int n) { return std::to_string(n); }
std::string flag(bool b) { return b ? "1" : "0"; }

/// Returns the number of items in [first, last) for which `is` returns true.
template <typename Item, typename Is>
int how_many(const std::vector<Item>& items, int first, int last, Is is) {
  return static_cast<int>(std::count_if(items.begin() + first, items.begin() + last, is));
}

/// Returns the steps from `at` to the next item in [first, last) for which `is` is true; 0 if none.
template <typename Item, typename Is>
int distance(const std::vector<Item>& items, int at, int step, int first, int last, Is is) {
  for (int i = at + step; i >= first && i < last; i += step) {
    if (is(items[i])) return std::abs(i - at);
  }
  return 0;
}

class Labeller {
 public:
  explicit Labeller(const Utterance& all) : all_(all) {}

  std::string label(int at) const {
    const Segment& segment = all_.segments[at];
    const bool pause = segment.syllable < 0;
    std::string out = name(at - 2) + "^" + name(at - 1) + "-" + name(at) + "+" + name(at + 1) +
                      "=" + name(at + 2);
    const auto beside = [&](int way) {  // the syllable of the segment before or after a pause
      const int other = at + way;
      return other < 0 || other >= std::ssize(all_.segments) ? -1 : all_.segments[other].syllable;
    };
    const int before = pause ? beside(-1) : segment.syllable - 1;
    const int after = pause                                               ? beside(1)
                      : segment.syllable + 1 < std::ssize(all_.syllables) ? segment.syllable + 1
                                                                          : -1;
    out += pause ? "@x_x"
                 : "@" + number(segment.place + 1) + "_" +
                       number(all_.syllables[segment.syllable].phones - segment.place);
    out += "/A:" + short_syllable(before, '_') + "/B:" + syllable(segment.syllable) +
           "/C:" + short_syllable(after, '+');
    const int word = pause ? -1 : all_.syllables[segment.syllable].word;
    out += "/D:" + short_word(pause ? word_of(before) : word - 1) + "/E:" + long_word(word) +
           "/F:" +
           short_word(pause                               ? word_of(after)
                      : word + 1 < std::ssize(all_.words) ? word + 1
                                                          : -1);
    const int phrase = pause ? -1 : all_.syllables[segment.syllable].phrase;
    out += "/G:" + short_phrase(pause ? phrase_of(before) : phrase - 1, '_') +
           "/H:" + long_phrase(phrase) + "/I:" +
           short_phrase(pause                                   ? phrase_of(after)
                        : phrase + 1 < std::ssize(all_.phrases) ? phrase + 1
                                                                : -1,
                        '=');
    return out + "/J:" + number(static_cast<int>(all_.syllables.size())) + "+" +
           number(static_cast<int>(all_.words.size())) + "-" +
           number(static_cast<int>(all_.phrases.size()));
  }

 private:
  std::string name(int at) const {
    return at < 0 || at >= std::ssize(all_.segments) ? "x" : all_.segments[at].name;
  }
  int word_of(int syllable) const { return syllable < 0 ? -1 : all_.syllables[syllable].word; }
  int phrase_of(int syllable) const { return syllable < 0 ? -1 : all_.syllables[syllable].phrase; }

  std::string short_syllable(int i, char between) const {
    if (i < 0) return std::string("0") + between + "0" + between + "0";
    const Syllable& s = all_.syllables[i];
    return flag(s.stress) + between + flag(s.accent) + between + number(s.phones);
  }
  std::string syllable(int i) const {
    if (i < 0) return "x-x-x@x-x&x-x#x-x$x-x!x-x;x-x|x";
    const Syllable& s = all_.syllables[i];
    const Word& word = all_.words[s.word];
    const Phrase& phrase = all_.phrases[s.phrase];
    const int in_word = i - word.first_syllable;
    const int first = phrase.first_syllable, last = first + phrase.syllables;
    const auto stressed = [](const Syllable& x) { return x.stress; };
    const auto accented = [](const Syllable& x) { return x.accent; };
    // Counts like festival: the first syllable of a phrase is not an earlier syllable.
    const auto both = [&](auto is) {
      return number(how_many(all_.syllables, std::min(first + 1, i), i, is) + 1) + "-" +
             number(how_many(all_.syllables, i + 1, last, is) + 1);
    };
    const auto near = [&](auto is) {
      return number(distance(all_.syllables, i, -1, first, last, is)) + "-" +
             number(distance(all_.syllables, i, 1, first, last, is));
    };
    return flag(s.stress) + "-" + flag(s.accent) + "-" + number(s.phones) + "@" +
           number(in_word + 1) + "-" + number(word.syllables - in_word) + "&" +
           number(i - first + 1) + "-" + number(last - i) + "#" + both(stressed) + "$" +
           both(accented) + "!" + near(stressed) + ";" + near(accented) + "|" + s.vowel;
  }
  std::string short_word(int i) const {
    return i < 0 ? "0_0" : all_.words[i].gpos + "_" + number(all_.words[i].syllables);
  }
  std::string long_word(int i) const {
    if (i < 0) return "x+x@x+x&x+x#x+x";
    const Word& word = all_.words[i];
    const Phrase& phrase = all_.phrases[word.phrase];
    const int first = phrase.first_word, last = first + phrase.words;
    const auto content = [](const Word& x) { return x.content(); };
    return word.gpos + "+" + number(word.syllables) + "@" + number(i - first + 1) + "+" +
           number(last - i) + "&" + number(how_many(all_.words, first, i, content)) + "+" +
           number(how_many(all_.words, i + 1, last, content)) + "#" +
           number(distance(all_.words, i, -1, first, last, content)) + "+" +
           number(distance(all_.words, i, 1, first, last, content));
  }
  std::string short_phrase(int i, char between) const {
    if (i < 0) return std::string("0") + between + "0";
    return number(all_.phrases[i].syllables) + between + number(all_.phrases[i].words);
  }
  std::string long_phrase(int i) const {
    const int count = static_cast<int>(all_.phrases.size());
    if (i < 0) return "x=x@1=" + number(count) + "|0";
    return number(all_.phrases[i].syllables) + "=" + number(all_.phrases[i].words) + "@" +
           number(i + 1) + "=" + number(count - i) + "|" + all_.phrases[i].endtone;
  }

  const Utterance& all_;
};

}  // namespace

std::vector<std::string> hts_labels(const cst_utterance* utterance, bool rising) {
  const Utterance all = flattened(utterance, rising);
  const Labeller labeller(all);
  std::vector<std::string> labels;
  for (int at = 0; at < std::ssize(all.segments); ++at) labels.push_back(labeller.label(at));
  return labels;
}
