// The ids with which a prescribed answer (answer_form.h) may begin, e.g. the text before JSON.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "kernels/sample.h"

namespace syrinx::llm {

class Beginnings {
 public:
  Beginnings() = default;
  explicit Beginnings(std::vector<std::vector<int32_t>> all) : all_(std::move(all)) {
    std::sort(all_.begin(), all_.end());
  }

  /// Restricts `rule` to the ids that may follow `said`, the answer so far. Returns false, without
  /// a restriction, once `said` begins with a complete beginning. Allocates nothing.
  bool restrict(std::span<const int32_t> said, SampleRule& rule) const {
    SampleRule only;
    for (const std::vector<int32_t>& one : all_) {
      const size_t common = std::min(one.size(), said.size());
      if (!std::equal(one.begin(), one.begin() + static_cast<std::ptrdiff_t>(common), said.begin()))
        continue;
      if (common == one.size()) return false;
      if (!add(one[common], only)) break;
    }
    if (only.ranges == 0) return false;
    rule = only;
    if (only.ranges == 1) rule.forced = only.allowed[0].begin;
    return true;
  }

  /// Returns whether some position has more possible next ids than a rule can hold.
  bool too_many() const {
    std::span<const int32_t> before;
    std::vector<int> ways;  // [i]: number of possible ids after i ids of the previous beginning
    for (const std::vector<int32_t>& one : all_) {
      const auto parted =
          std::mismatch(before.begin(), before.end(), one.begin(), one.end()).second;
      ways.resize(static_cast<size_t>(parted - one.begin()) + 1);
      if (++ways.back() > SampleRule::kMostRanges) return true;
      ways.resize(one.size(), 1);
      before = one;
    }
    return false;
  }

 private:
  /// Adds an id to a rule. Call it with ascending ids. Returns false if the rule is full.
  static bool add(int32_t id, SampleRule& rule) {
    if (rule.ranges > 0 && rule.allowed[rule.ranges - 1].begin == id) return true;
    if (rule.ranges == SampleRule::kMostRanges) return false;
    rule.allowed[rule.ranges++] = {id, id + 1};
    return true;
  }

  std::vector<std::vector<int32_t>> all_;  // the beginnings, sorted
};

}  // namespace syrinx::llm
