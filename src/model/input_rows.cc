#include "model/input_rows.h"

#include <algorithm>

#include "model/stage.h"

namespace syrinx {

BatchRows fill_rows(StepContext& ctx, const ArBatch& batch, int tables) {
  BatchRows rows{take_array<int32_t>(ctx, int64_t{batch.rows} * tables),
                 take_array<GivenRow>(ctx, batch.rows)};
  std::fill(rows.ids.begin(), rows.ids.end(), -1);
  size_t at = 0;
  for (const ArSeq& seq : batch.seqs) {
    const auto count = static_cast<size_t>(seq.rows), width = static_cast<size_t>(tables);
    InputRows out(tables, rows.ids.subspan(at * width, count * width),
                  rows.given.subspan(at, count));
    seq.state->rows(seq.first_pos, seq.companion, out);
    at += count;
  }
  return rows;
}

void store_given(StepContext& ctx, std::span<const GivenRow> given, const View& x) {
  for (size_t i = 0; i < given.size(); ++i) {
    const auto row = static_cast<int64_t>(i);
    if (!given[i].empty()) store(ctx, given[i], x.slice(row, row + 1));
  }
}

}  // namespace syrinx
