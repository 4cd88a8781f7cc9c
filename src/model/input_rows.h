// The input rows of an AR stage as data: each row is a sum of table entries, named by ids, or a
// given vector. Sequences write the data (Sequence::rows). Stages compute rows from the data
// without knowing the class of the sequence. Values; one thread. N: rows of a batch. T: tables of
// the stage.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/context.h"

namespace syrinx {

struct ArBatch;

/// The vector of a row that ids do not describe; empty: the row has no vector. A family's sequence
/// and stage agree on its meaning, e.g. a row of the model's width or a latent patch.
using GivenRow = std::span<const float>;

/// Receives the rows of one sequence. Borrowed for one call.
class InputRows {
 public:
  InputRows(int tables, std::span<int32_t> ids, std::span<GivenRow> given)
      : tables_(static_cast<size_t>(tables)), ids_(ids), given_(given) {}

  int count() const { return static_cast<int>(given_.size()); }
  /// Returns the ids [T] of row `row` of this range, one per table. Initially -1: nothing is added.
  std::span<int32_t> ids(int row) {
    return ids_.subspan(static_cast<size_t>(row) * tables_, tables_);
  }
  /// Sets the vector of a row; it must stay valid until the step has ended.
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
};

/// Collects the rows from the sequences of a batch. The result is allocated in the host arena.
BatchRows fill_rows(StepContext& ctx, const ArBatch& batch, int tables);

/// Writes the given vectors, each of width H, into their rows of x [N, H].
void store_given(StepContext& ctx, std::span<const GivenRow> given, const View& x);

}  // namespace syrinx
