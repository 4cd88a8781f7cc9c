// For tests: makes invalid input by changing valid input. The sequence is the same every time, so
// that failures are reproducible. Plain values, one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace syrinx {

/// Returns the number of inputs: SYRINX_FUZZ_INPUTS if set, else `otherwise`.
inline int fuzz_inputs(int otherwise) {
  const char* value = std::getenv("SYRINX_FUZZ_INPUTS");
  return value == nullptr ? otherwise : std::atoi(value);
}

/// Makes texts (any bytes) with up to four changes: removes, changes or repeats bytes, inserts
/// `tokens`, or replaces the end by the end of another text. Texts have at most 8 KiB.
class Mutator {
 public:
  Mutator(std::vector<std::string> seeds, std::vector<std::string> tokens)
      : seeds_(std::move(seeds)), tokens_(std::move(tokens)) {}

  std::string next() {
    std::string text = pick(seeds_);
    for (uint64_t i = 0, count = below(5); i < count; ++i) mutate(text);
    return text;
  }
  /// Keeps a text that reached new code as a seed, up to a limit of seeds.
  void keep(const std::string& text) {
    if (seeds_.size() < 4096 && text.size() < 4096) seeds_.push_back(text);
  }
  /// Returns a random number in [0, bound); 0 if the bound is 0.
  uint64_t below(uint64_t bound) { return bound == 0 ? 0 : random_() % bound; }
  template <typename T>
  const T& pick(const std::vector<T>& list) {
    return list[below(list.size())];
  }
  /// Cuts `text` into pieces of random sizes.
  std::vector<std::string> cut(const std::string& text) {
    std::vector<std::string> out;
    for (size_t at = 0; at < text.size(); at += out.back().size()) {
      out.push_back(text.substr(at, 1 + below(below(4) == 0 ? 200 : 7)));
    }
    return out;
  }

 private:
  void mutate(std::string& text) {
    const size_t at = below(text.size() + 1);
    const size_t count = std::min<size_t>(1 + below(8), text.size() - at);
    switch (below(7)) {
      case 0:
        text.erase(at, count);
        break;
      case 1:
        text.insert(at, pick(tokens_));
        break;
      case 2:
        if (at < text.size()) text[at] = static_cast<char>(random_());
        break;
      case 3:
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        break;
      case 4:
        text.insert(below(text.size() + 1), text.substr(at, count));
        break;
      case 5: {
        const std::string& other = pick(seeds_);
        text = text.substr(0, at) + other.substr(below(other.size() + 1));
        break;
      }
      default:
        text.replace(at, count, pick(tokens_));
        break;
    }
    if (text.size() > 8192) text.resize(8192);
  }

  std::vector<std::string> seeds_;
  const std::vector<std::string> tokens_;
  std::mt19937_64 random_{12345};
};

/// Returns the tokens of JSON, for Mutator.
inline const std::vector<std::string>& json_tokens() {
  static const std::vector<std::string> all = {
      "null",       "true",    "{}",         "[]",         "\"\"",
      "-1",         "0",       "1e999",      "1.5",        "99999999999999999999",
      "\\ud800",    "\\u0000", "\"input\":", "\"items\":", "\"voice\":",
      "\"model\":", ",",       ":",          "{",          "}",
      "[",          "]",       "\"",         "\xff",       "\xf0\x9f",
      "\xc0\x80",   "NaN",     "\"pcm\"",    "\"seed\":"};
  return all;
}

}  // namespace syrinx
