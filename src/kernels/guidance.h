// Classifier-free guidance: merges the logits of a sequence and of its companion.
#pragma once

#include <span>

#include "tensor/context.h"

namespace syrinx {

/// One row to sample: row `row` of the logits unchanged, or with scale s u + s (c - u), where c is
/// row `row` and u the row after it (Ho and Salimans, 2022). Scale 1 leaves the row unchanged.
struct GuidedRow {
  int row = 0;
  bool guided = false;
  float scale = 1;
};

/// Writes row i of `logits` as rows[i] describes it; rows[].row must rise. In place; logits f32 [E,
/// V], E >= rows.size().
void merge_guidance(StepContext& ctx, View logits, std::span<const GuidedRow> rows);

}  // namespace syrinx
