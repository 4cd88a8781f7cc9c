// Cuts Chinese characters that are not in jieba's word list into words with parts of speech. Reads
// the files of jieba.posseg, whose hidden Markov model it applies. Const after loading; any thread.
// Source: jieba 0.42.1, posseg/__init__.py (__cut_detail, __cut), posseg/viterbi.py.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "families/kokoro/jieba.h"

namespace syrinx::kokoro {

class TagModel {
 public:
  /// Reads posseg/*.py of jieba's folder: 0.1 s, 6 MB of memory. Returns an Error if a file is
  /// missing or has another format.
  static Result<std::unique_ptr<const TagModel>> load(const std::string& folder);

  /// Cuts a run of characters and appends its words to `out`.
  void cut(std::u32string_view run, std::vector<TaggedWord>& out) const;

 private:
  /// A place in a word (B, E, M or S), and the word's part of speech.
  struct State {
    char place = 'S';
    std::string tag;
    auto operator<=>(const State&) const = default;  // NOLINT(modernize-use-nullptr)
  };
  using Index = uint16_t;

  TagModel() = default;
  Status read(const std::string& folder);
  const State* find(const State& state) const;
  double step(size_t from, size_t to) const { return steps_[from * states_.size() + to]; }
  double emission(size_t state, char32_t c) const;
  const std::vector<Index>& states_of(char32_t c) const;
  std::vector<size_t> path(std::u32string_view run) const;
  void cut_chinese(std::u32string_view run, std::vector<TaggedWord>& out) const;

  std::vector<State> states_;                       // sorted
  std::vector<double> starts_;                      // logarithms of probabilities
  std::vector<double> steps_;                       // [from, to]; -inf: impossible
  std::vector<Index> all_;                          // indices of all states
  std::unordered_map<uint64_t, double> emissions_;  // key: character << 16 | state
  std::unordered_map<char32_t, std::vector<Index>> possible_;
};

}  // namespace syrinx::kokoro
