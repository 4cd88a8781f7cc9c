#include "model/stage.h"

namespace syrinx {

std::span<int32_t> emitting_rows(StepContext& ctx, const ArBatch& batch) {
  std::span<int32_t> rows = take_array<int32_t>(ctx, batch.emits);
  size_t e = 0;
  for (size_t s = 0; s < batch.seqs.size(); ++s) {
    const int end = batch.ragged.row_begin[s + 1];
    for (int row = end - batch.seqs[s].emits; row < end; ++row) rows[e++] = row;
  }
  return rows;
}

}  // namespace syrinx
