// Warns a client of symbols in its text that the voice cannot pronounce. One thread at a time.
#pragma once

#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "model/sequence.h"

namespace syrinx {

class UnsaidSymbols {
 public:
  void add(char32_t symbol) {
    if (known_.insert(symbol).second) fresh_.push_back(symbol);
  }
  template <typename Symbols>
  void add_all(const Symbols& symbols) {
    for (const char32_t symbol : symbols) add(symbol);
  }
  /// Warns of the symbols that were added since the last call, of each symbol once per request.
  void report(StepOutput& out) {
    if (fresh_.empty()) return;
    constexpr size_t kMost = 8;
    std::string text = "the voice has no sound for ";
    for (size_t i = 0; i < fresh_.size() && i < kMost; ++i) {
      char name[16];
      std::snprintf(name, sizeof name, "U+%04X", static_cast<unsigned>(fresh_[i]));
      text += (i == 0 ? "" : ", ") + std::string(name);
    }
    if (fresh_.size() > kMost) text += " and " + std::to_string(fresh_.size() - kMost) + " more";
    out.warning(text + (fresh_.size() == 1 ? "; it was omitted" : "; they were omitted"));
    fresh_.clear();
  }

 private:
  std::set<char32_t> known_;
  std::vector<char32_t> fresh_;
};

}  // namespace syrinx
