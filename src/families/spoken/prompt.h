// The rows of a segment's prompt, as a family writes them: ids to be summed from the model's
// tables, and beside each row the id that the original implementation has there. A plain value; one
// thread. T tables.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace syrinx {

class Prompt {
 public:
  explicit Prompt(int tables) : tables_(static_cast<size_t>(tables)) {}

  void clear() { rows_.clear(), written_.clear(); }
  bool empty() const { return written_.empty(); }
  int size() const { return static_cast<int>(written_.size()); }

  /// Appends a row of one id of table 0.
  void add(int32_t id) { add_row(id)[0] = id; }
  void add(std::span<const int32_t> ids);
  /// Appends a row and returns its ids [T], all -1. `written`: what written() has for it.
  std::span<int32_t> add_row(int32_t written);

  std::span<const int32_t> row(int at) const {
    return std::span(rows_).subspan(static_cast<size_t>(at) * tables_, tables_);
  }
  /// One id per row (Sequence::prompt_ids).
  std::span<const int32_t> written() const { return written_; }
  /// Appends the rows' keys (Sequence::prefix_keys): an id of table 0 alone is its own key.
  void append_keys(std::vector<uint64_t>& keys) const;

 private:
  size_t tables_;
  std::vector<int32_t> rows_;     // [size(), T]
  std::vector<int32_t> written_;  // [size()]
};

}  // namespace syrinx
