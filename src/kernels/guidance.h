// Classifier-free guidance: merges the logits of a sequence and of its companion.
#pragma once

#include <span>

#include "tensor/context.h"

namespace syrinx {

/// One row to sample. Unguided: row `row` of the logits. Guided with scale s: u + s (c - u), where
/// c is row `row` and u the row after it (Ho and Salimans, 2022). Scale 1 leaves the row unchanged.
struct GuidedRow {
  int row = 0;
  bool guided = false;
  float scale = 1;
};

/// Replaces row i of `logits` by the row that rows[i] describes; rows[].row must ascend. In place;
/// logits f32 [E, V], E >= rows.size().
void merge_guidance(StepContext& ctx, View logits, std::span<const GuidedRow> rows);

}  // namespace syrinx
