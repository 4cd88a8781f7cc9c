// Classifier-free guidance: merges the logits of a sequence and of its companion.
#pragma once

#include <span>

#include "tensor/context.h"

namespace syrinx {

/// One row that is to be sampled: row `row` of the logits as it is, or with scale s
/// u + s (c - u), c being row `row` and u the row after it (Ho and Salimans, 2022). Scale 1 leaves
/// the row as it is.
struct GuidedRow {
  int row = 0;
  bool guided = false;
  float scale = 1;
};

/// Row i of `logits` becomes what rows[i] says; rows[].row rises. In place; logits f32 [E, V],
/// E >= rows.size().
void merge_guidance(StepContext& ctx, View logits, std::span<const GuidedRow> rows);

}  // namespace syrinx
