#include "text/english/spelling.h"

#include <algorithm>
#include <vector>

#include "text/english/chars.h"
#include "text/english/interjections.h"
#include "text/english/numbers.h"
#include "text/english/tables.h"
#include "text/english/word_lists.h"

namespace syrinx::english {
namespace {

struct Special {
  std::string written, words;
};

const std::vector<Special>& special_rows() {
  static const auto kRows = table_rows<Special>(tables::special_words(), 2, 2, [](const Cells& c) {
    return Special{c[0], c[1]};
  });
  return kRows;
}

bool is_vowel(char c) { return std::string_view("aeiouyAEIOUY").find(c) != std::string_view::npos; }

/// Returns whether a word in small letters can be pronounced as an English word.
bool is_pronounceable(std::string_view word) {
  const auto first = std::find_if(word.begin(), word.end(), is_vowel);
  if (first == word.end()) return false;
  const auto last = std::find_if(word.rbegin(), word.rend(), is_vowel).base();
  const std::string_view onset = word.substr(0, static_cast<size_t>(first - word.begin()));
  const std::string_view coda = word.substr(static_cast<size_t>(last - word.begin()));
  if (!onset.empty() && !listed(word_lists().onsets, onset)) return false;
  if (!coda.empty() && !listed(word_lists().codas, coda)) return false;
  int consonants = 0, vowels = 0;
  for (const char c : word) {
    vowels = is_vowel(c) ? vowels + 1 : 0;
    consonants = is_vowel(c) ? 0 : consonants + 1;
    if (vowels > 3 || consonants > 4) return false;
  }
  return true;
}

/// Returns whether a word in capitals is probably a word, not an acronym.
bool is_word_in_capitals(std::string_view small, bool shouting) {
  if (listed(word_lists().two_faced, small)) return shouting;
  if (listed(word_lists().spelled, small)) return false;
  if (listed(word_lists().said, small) || listed(word_lists().short_words, small)) return true;
  if (small.size() < 3 || !is_pronounceable(small)) return false;
  return small.size() > 3 || (!is_vowel(small[0]) && is_vowel(small[1]) && !is_vowel(small[2]));
}

std::string_view special_words(std::string_view small) {
  const auto it = std::find_if(special_rows().begin(), special_rows().end(),
                               [small](const Special& s) { return s.written == small; });
  return it == special_rows().end() ? std::string_view() : it->words;
}

/// Reads a part of a name, such as "get", "HTTP", "User".
std::string letters_words(std::string_view letters, bool shouting) {
  const std::string small = lower(letters);
  if (letters.size() == 1) {
    return letters == "a" ? "a" : std::string(1, to_upper(letters[0]));
  }
  if (const auto words = special_words(small); !words.empty()) return std::string(words);
  if (all(letters, is_upper)) {
    return is_word_in_capitals(small, shouting) ? small : letter_names(letters);
  }
  // Words without a vowel: "html", "std" are spelled; "hmm", "psst", "brr" are spoken as words.
  const bool hum = small.find_first_not_of("bfhmprstz") == small.npos && small.size() < 7 &&
                   (small.find("mm") != small.npos || small.find("sh") != small.npos ||
                    small.find("ff") != small.npos || small.find("rr") != small.npos ||
                    small.find("zz") != small.npos || small.find("ss") != small.npos ||
                    small == "hm" || small == "pst");
  if (std::none_of(small.begin(), small.end(), is_vowel) && !hum && small != "nth") {
    return letter_names(letters);
  }
  return std::string(letters);
}

/// Returns where the next part of "getUserName", "HTTPServer" or "H2O" begins.
size_t hump_end(std::string_view word, size_t from) {
  for (size_t i = from + 1; i < word.size(); ++i) {
    if (is_digit(word[i]) != is_digit(word[i - 1])) return i;
    if (is_lower(word[i - 1]) && is_upper(word[i])) return i;
    const bool ends_capitals =
        i > from + 1 && is_upper(word[i - 2]) && is_upper(word[i - 1]) && is_lower(word[i]);
    if (ends_capitals) return i - 1;
  }
  return word.size();
}

/// Returns whether the text is one word despite inner capitals: "McDonald", "MacArthur", "DeVito".
bool is_family_name(std::string_view word) {
  for (const std::string_view start : {"Mc", "Mac", "De", "Di", "Du", "La", "Le", "Van", "Fitz"}) {
    if (word.starts_with(start) && word.size() > start.size() + 2 && is_upper(word[start.size()]) &&
        all(word.substr(start.size() + 1), is_lower)) {
      return true;
    }
  }
  return false;
}

std::string chunk_words(std::string_view chunk, bool shouting) {
  if (chunk.empty()) return {};
  const std::string small = lower(chunk);
  if (const auto words = special_words(small); !words.empty()) return std::string(words);
  if (is_family_name(chunk)) return small;
  const bool plural =
      chunk.size() > 2 && chunk.back() == 's' && all(chunk.substr(0, chunk.size() - 1), is_upper);
  if (plural) {  // "CPUs"
    const std::string base = letters_words(chunk.substr(0, chunk.size() - 1), false);
    return base + (base.size() == 1 || base[base.size() - 2] == ' ' ? "'s" : "s");
  }
  if (chunk.back() == 's' && is_digits(chunk.substr(0, chunk.size() - 1), 1, 4)) {  // "F-16s"
    std::string words = number_words(chunk.substr(0, chunk.size() - 1));
    if (words.back() == 'y') words.replace(words.size() - 1, 1, "ie");
    return words + (words.back() == 'x' ? "es" : "s");
  }
  if (chunk.size() > 3 && (chunk.back() == 'p' || chunk.back() == 'i') &&
      is_digits(chunk.substr(0, chunk.size() - 1), 3, 4)) {  // "1080p"
    return pair_words(chunk.substr(0, chunk.size() - 1)) + ' ' + to_upper(chunk.back());
  }
  const size_t lines = chunk.find_first_not_of("0123456789");
  if (lines != chunk.npos && (chunk[lines] == 'p' || chunk[lines] == 'i') &&
      is_digits(chunk.substr(0, lines), 3, 4) && is_digits(chunk.substr(lines + 1), 2, 3)) {
    return pair_words(chunk.substr(0, lines)) + ' ' + to_upper(chunk[lines]) + ' ' +
           cardinal_words(chunk.substr(lines + 1));  // "1080p60"
  }
  std::string out;
  for (size_t from = 0; from < chunk.size();) {
    const size_t to = hump_end(chunk, from);
    const std::string_view part = chunk.substr(from, to - from);
    if (is_digit(part[0])) {
      add(out, number_words(part));
    } else {
      const bool alone = part.size() == 1 && part.size() < chunk.size();
      add(out, alone ? letter_names(part) : letters_words(part, shouting));
    }
    from = to;
  }
  return out;
}

}  // namespace

std::string letter_names(std::string_view letters) {
  std::string out;
  for (const char c : letters) {
    if (is_letter(c)) add(out, std::string(1, to_upper(c)));
  }
  return out;
}

std::string word_words(std::string_view written, bool shouting) {
  const std::string plain = without_drawl(written);
  const std::string_view word = plain;
  // An apostrophe belongs to its word: "don't", "CIA's", "o'clock".
  const size_t mark = word.find('\'');
  if (mark == word.npos) return chunk_words(word, shouting);
  if (const auto words = special_words(lower(word)); !words.empty()) return std::string(words);
  const std::string_view head = word.substr(0, mark);
  const std::string tail = lower(word.substr(mark));
  const bool clitic = listed(" 's 'd 'll 're 've 'm 't ", tail) && !head.empty();
  if (clitic) {
    const bool negated = tail == "'t" && all(head, is_upper);        // "DON'T"
    const bool loud = shouting || any(word.substr(mark), is_upper);  // "IT'S"
    return (negated ? lower(head) : chunk_words(head, loud)) + tail;
  }
  if (!any(word, is_digit)) return std::string(word);
  std::string out;
  for (const std::string_view part : split(word, '\'')) add(out, chunk_words(part, shouting));
  return out;
}

std::string part_words(std::string_view part) {
  if ((part.size() == 1 && is_letter(part[0])) || part == "sh") return letter_names(part);
  return word_words(part);
}

bool is_shouting(const Tokens& tokens, size_t i) {
  constexpr size_t kWindow = 4;
  if (listed(" usa ceo tv dvd ", lower(tokens.core(i)))) return false;
  // One long word in capitals next to the token is enough to mean emphasis: "DRINK ME".
  const auto loud = [](std::string_view core) {
    return core.size() > 3 && all(core, is_upper) && is_word_in_capitals(lower(core), false);
  };
  if (loud(tokens.before(i)) || loud(tokens.after(i))) return true;
  bool word = false;
  const size_t from = i > kWindow ? i - kWindow : 0;
  for (size_t k = from; k < std::min(tokens.size(), i + kWindow + 1); ++k) {
    const std::string_view core = tokens.core(k);
    if (any(core, is_lower)) return false;
    const std::string_view head = core.substr(0, core.find('\''));
    word |= k != i && head.size() > 1 && all(head, is_upper) &&
            is_word_in_capitals(lower(head), head.size() < core.size());
  }
  return word;
}

}  // namespace syrinx::english
