// The product that all linears and convolutions on the CPU use: rows of activations times a packed
// matrix. A row consists of `spans` spans of `span_len` values, `span_step` apart: one span for a
// linear, one per tap for a dilated convolution. packed_matrix.h specifies the weights. A row's
// bits depend only on the row and the weights.
#pragma once

#include <span>

#include "kernels/packed_matrix.h"
#include "tensor/context.h"

namespace syrinx::cpu {

/// Rows at a constant distance from each other, in x and in `out`.
struct GemmSegment {
  const float* x = nullptr;
  float* out = nullptr;
  int64_t rows = 0;
};

/// The outputs [first_panel * 16, first_panel * 16 + width) of the matrix. They are written to
/// columns [column, column + width) of `out`, whose rows are out_stride floats apart.
struct GemmPart {
  int64_t first_panel = 0, width = 0;
  float* out = nullptr;  // null: the segment's `out` is used
  int64_t out_stride = 0, column = 0;
};

/// How the sum of an output's products is stored.
enum class GemmStore : uint8_t {
  kSet,       // out = sum + bias
  kAdd,       // out += sum + bias
  kSiluGate,  // pairs of panels: out = silu(sum0 + bias0) * (sum1 + bias1)
};

/// A product of rows and a packed matrix.
struct GemmCall {
  const PackedMatrix* weight = nullptr;
  const float* bias = nullptr;  // [16 * panels], or null without a bias
  std::span<const GemmSegment> segments;
  std::span<const GemmPart> parts;  // ordered by first_panel; together they cover all panels
  int64_t x_stride = 0;             // floats between rows of a segment
  int64_t x_offset = 0;  // floats added to every row's address, for a group of a convolution
  int64_t spans = 1, span_len = 0, span_step = 0;  // spans * span_len == weight->k
  GemmStore store = GemmStore::kSet;
};

/// Runs the product on the context's threads, with the code for this processor.
void gemm(StepContext& ctx, const GemmCall& call);

}  // namespace syrinx::cpu
