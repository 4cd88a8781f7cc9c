// The rows of a segment's prompt, as a family writes them: ids whose table entries are summed, or a
// vector. A row may also have the id that the original implementation has there (written()). A
// value type, used by one thread, that borrows the vectors. T: tables.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/input_rows.h"

namespace syrinx {

class Prompt {
 public:
  explicit Prompt(int tables) : tables_(static_cast<size_t>(tables)) {}

  bool empty() const { return given_.empty(); }
  int size() const { return static_cast<int>(given_.size()); }

  /// Appends a row with one id, of table 0.
  void add(int32_t id) { add_row(id)[0] = id; }
  void add(std::span<const int32_t> ids);
  /// Appends a row and returns its ids [T], which are all -1. `written`: the row's id in written().
  std::span<int32_t> add_row(int32_t written);
  /// Appends a row that has no id in written().
  std::span<int32_t> add_row();
  /// Appends a row that is a vector, which must stay valid as long as the prompt.
  void add_vector(GivenRow vector, int32_t written);
  void add_vector(GivenRow vector);

  std::span<const int32_t> row(int at) const {
    return std::span(rows_).subspan(static_cast<size_t>(at) * tables_, tables_);
  }
  std::span<int32_t> row(int at) {
    return std::span(rows_).subspan(static_cast<size_t>(at) * tables_, tables_);
  }
  /// Returns the vector of a row; empty if the row has none.
  GivenRow& vector(int at) { return given_[static_cast<size_t>(at)]; }
  GivenRow vector(int at) const { return given_[static_cast<size_t>(at)]; }
  /// Returns whether two prompts have the same row at a position.
  bool same_row(int at, const Prompt& other) const;

  /// Returns the ids in the order of their rows (Sequence::prompt_ids).
  std::span<const int32_t> written() const { return written_; }
  /// Appends the keys of the rows (Sequence::prefix_keys). The key of a row with a single id of
  /// table 0 is that id. Keys of other rows are hashes.
  void append_keys(std::vector<uint64_t>& keys) const;

 private:
  size_t tables_;
  std::vector<int32_t> rows_;    // [size(), T]
  std::vector<GivenRow> given_;  // [size()]
  std::vector<int32_t> written_;
};

}  // namespace syrinx
