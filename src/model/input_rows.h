// What the input rows of an AR stage are made of, as data: each row is a sum of table entries,
// named by ids, or has a vector that is given. Sequences write it (Sequence::rows), stages make
// rows of it, and no stage needs to know the class of a sequence. Values; one thread. N rows of a
// batch, T tables of the stage.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/context.h"

namespace syrinx {

struct ArBatch;

/// The vector of a row that ids do not describe; empty: the row has none. What its numbers are (a
/// row of the model's width, a latent patch) is agreed between a family's sequence and its stage.
using GivenRow = std::span<const float>;

/// Rows of one sequence, to be written. Borrowed for one call.
class InputRows {
 public:
  InputRows(int tables, std::span<int32_t> ids, std::span<GivenRow> given)
      : tables_(static_cast<size_t>(tables)), ids_(ids), given_(given) {}

  int count() const { return static_cast<int>(given_.size()); }
  /// The ids [T] of row `row` of this range, one per table. -1 adds nothing, and is what stands
  /// there at first.
  std::span<int32_t> ids(int row) {
    return ids_.subspan(static_cast<size_t>(row) * tables_, tables_);
  }
  /// The vector must stay valid until the step has ended.
  void give(int row, GivenRow vector) { given_[static_cast<size_t>(row)] = vector; }

 private:
  size_t tables_;
  std::span<int32_t> ids_;
  std::span<GivenRow> given_;
};

/// The rows of all sequences of a batch.
struct BatchRows {
  std::span<int32_t> ids;     ///< [N, T]
  std::span<GivenRow> given;  ///< [N]
  bool any_given = false;     ///< whether a row has a vector
};

/// Asks the sequences of a batch for their rows. The result lies in the host arena.
BatchRows fill_rows(StepContext& ctx, const ArBatch& batch, int tables);

/// Writes the given vectors, which are of the width of x, into their rows of x [N, H].
void store_given(StepContext& ctx, const BatchRows& rows, const View& x);

}  // namespace syrinx
