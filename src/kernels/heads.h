// A view of the heads of one operand inside the rows of a wider matrix, so that the output of a
// fused q|k|v projection need not be split. Borrowed for one call.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace syrinx {

/// The columns [offset, offset + heads * dim) of every row of `rows` [N, stride] f32.
struct HeadsView {
  View rows;
  int64_t offset = 0;
  int heads = 0;
  int dim = 0;

  int64_t count() const { return rows.shape[0]; }
  int64_t stride() const { return rows.shape[1]; }
  float* row(int64_t i) const { return rows.f32() + i * stride() + offset; }
};

/// Returns a view of all columns of x [N, heads * dim] f32.
inline HeadsView all_heads(const View& x, int heads) {
  return {x, 0, heads, static_cast<int>(x.shape[1] / heads)};
}

/// Throws InternalError unless `x` is f32 [rows, >= offset + heads * dim]. `caller` is the name of
/// the calling function, for the message.
inline void check_heads(const char* caller, const HeadsView& x) {
  SYRINX_CHECK(x.rows.dtype == DType::kF32 && x.rows.shape.dims() == 2, "[", caller,
               "] heads must be columns of an f32 [N, columns], got ", dtype_name(x.rows.dtype),
               " ", x.rows.shape.str());
  SYRINX_CHECK(x.heads > 0 && x.dim > 0 && x.offset >= 0 &&
                   x.offset + int64_t{x.heads} * x.dim <= x.rows.shape[1],
               "[", caller, "] ", x.heads, " heads of ", x.dim, " from column ", x.offset,
               " do not fit into ", x.rows.shape.str());
}

}  // namespace syrinx
