#include "text/saying.h"

#include <algorithm>

namespace syrinx {

std::vector<Saying> within(const std::vector<Saying>& sayings, int64_t begin, int64_t size) {
  std::vector<Saying> out;
  for (const Saying& saying : sayings) {
    if (saying.begin < begin || saying.end > begin + size) continue;
    out.push_back(saying);
    out.back().begin -= begin;
    out.back().end -= begin;
  }
  return out;
}

std::vector<Saying> joined(std::vector<Saying> first, std::vector<Saying> second) {
  std::erase_if(second, [&](const Saying& word) {
    return std::any_of(first.begin(), first.end(), [&](const Saying& one) {
      return word.begin < one.end && one.begin < word.end;
    });
  });
  first.insert(first.end(), second.begin(), second.end());
  std::sort(first.begin(), first.end(),
            [](const Saying& a, const Saying& b) { return a.begin < b.begin; });
  return first;
}

}  // namespace syrinx
