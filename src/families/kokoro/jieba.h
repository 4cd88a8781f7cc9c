// Cuts Chinese text into words like jieba, with the data files of its package (Debian:
// python3-jieba): a word list with frequencies, and for unknown words a hidden Markov model of the
// places of characters in words. Const after loading; any thread. Source: jieba 0.42.1,
// jieba/__init__.py (get_DAG, calc, __cut_DAG), finalseg/__init__.py.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace syrinx::kokoro {

class TagModel;

/// A word, and jieba's code of its part of speech, e.g. "n" or "vn". "x": unknown, or a mark.
struct TaggedWord {
  std::u32string text;
  std::string tag;
};

class Jieba {
 public:
  /// Reads dict.txt and finalseg/prob_emit.py of `folder`: 0.2 s, 12 MB of memory. Returns an Error
  /// if a file is missing or has another format.
  static Result<std::unique_ptr<const Jieba>> load(const std::string& folder);

  /// Cuts a run of Chinese characters into words.
  std::vector<std::u32string> cut(std::u32string_view run) const;
  /// Cuts a run of Chinese characters, digits and full stops into words with their parts of speech.
  /// `unknown` cuts words that are not in the list.
  std::vector<TaggedWord> cut(std::u32string_view run, const TagModel& unknown) const;
  /// Returns the length of the shortest listed word inside `word`, or the length of `word` if it
  /// contains no such word. Writes to `begins` whether `word` starts with that word.
  size_t shortest_part(std::u32string_view word, bool& begins) const;

 private:
  struct Entry {
    uint32_t begin = 0;  // offset in text_
    uint16_t size = 0;   // bytes of the word
    uint32_t count = 0;  // number of occurrences
  };
  Jieba() = default;
  Status read_words();
  Status read_places(std::string_view source);
  std::string_view word_of(const Entry& entry) const {
    return std::string_view(text_).substr(entry.begin, entry.size);
  }
  uint32_t count_of(std::string_view word, bool& goes_on) const;
  std::string tag_of(std::u32string_view word) const;
  /// Calls listed(word) for each word of `run` that is in the list, and loose(characters) for runs
  /// of single characters between longer words.
  template <typename Listed, typename Loose>
  void walk(std::u32string_view run, Listed listed, Loose loose) const;
  void cut_unknown(std::u32string_view run, std::vector<std::u32string>& out) const;

  std::string text_;            // text of dict.txt
  std::vector<Entry> entries_;  // sorted by word
  double total_ = 0;            // number of occurrences of all words
  // Logarithms of the probability of a character at each place: begin, end, middle, single.
  std::vector<std::array<double, 4>> places_;  // first entry: kFirstHan
};

/// Returns the folder of jieba's data files: SYRINX_JIEBA, or the folder of Debian's package.
std::string jieba_folder();

}  // namespace syrinx::kokoro
