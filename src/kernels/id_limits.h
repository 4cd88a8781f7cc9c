// Rules for the next ids that change logits, and log-probabilities of drawn ids. Each row has the
// same result in any batch. B rows, V vocabulary.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/context.h"

namespace syrinx {

/// The ids that a row may choose.
struct IdLimits {
  /// Bit id % 64 of word id / 64; ids beyond the mask are not allowed. An empty mask allows all
  /// ids. The memory is borrowed for the call.
  std::span<const uint64_t> mask = {};
  /// If > 0: if the allowed ids from this one on are together likelier than the likeliest allowed
  /// id before it, the ids before it are not allowed.
  int32_t rather_from = 0;
};

/// Sets the logits [B, V] f32 of ids that are not allowed to minus infinity.
void limit_ids(StepContext& ctx, const View& logits, std::span<const IdLimits> rows);

/// Computes out[i] = log-softmax(logits[i])[ids[i, column]]. logits [B, V] f32; ids i32 [B, K],
/// each in [0, V); out f32 [B]. All views are on one device.
void log_probabilities(StepContext& ctx, const View& logits, const View& ids, int column,
                       const View& out);

/// Returns the logarithm of the sum of all e^x; minus infinity if the sum is 0. On the CPU.
double log_sum(std::span<const float> x);

}  // namespace syrinx
