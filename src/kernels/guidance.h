// Classifier-free guidance: merges the logits of a sequence and the logits of its companion.
#pragma once

#include <span>

#include "tensor/context.h"

namespace syrinx {

/// One row to sample. Without guidance: row `row` of the logits. With guidance of scale s: u + s (c
/// - u), where c is row `row` and u the next row (Ho and Salimans, 2022). Scale 1 gives c.
struct GuidedRow {
  int row = 0;
  bool guided = false;
  float scale = 1;
};

/// Replaces row i of `logits` by the row that rows[i] describes, in place. rows[].row must ascend.
/// logits f32 [E, V], E >= rows.size().
void merge_guidance(StepContext& ctx, View logits, std::span<const GuidedRow> rows);

}  // namespace syrinx
