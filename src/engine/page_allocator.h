// Which pages of the KV cache are free. Knows no bytes: a page is a number.
// Engine thread only.
#pragma once

#include <cstdint>
#include <vector>

namespace syrinx {

class PageAllocator {
 public:
  explicit PageAllocator(int pages) {
    free_.reserve(pages);
    for (int page = pages - 1; page >= 0; --page) free_.push_back(page);
    total_ = pages;
  }

  int total() const { return total_; }
  int available() const { return static_cast<int>(free_.size()); }

  /// Grows `held` to `count` pages; false and nothing changed when there are too few.
  bool grow(std::vector<int32_t>& held, int count) {
    const int missing = count - static_cast<int>(held.size());
    if (missing > available()) return false;
    for (int i = 0; i < missing; ++i) {
      held.push_back(free_.back());
      free_.pop_back();
    }
    return true;
  }

  void give_back(std::vector<int32_t>& held) {
    free_.insert(free_.end(), held.rbegin(), held.rend());
    held.clear();
  }

 private:
  std::vector<int32_t> free_;
  int total_ = 0;
};

}  // namespace syrinx
