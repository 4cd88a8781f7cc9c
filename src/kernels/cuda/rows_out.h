// Rows that only products read: f32, or bf16 rounded as the product itself would round them.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace syrinx::cuda {

/// The destination of rows; one of the two pointers is null.
struct RowsOut {
  float* f32 = nullptr;
  uint16_t* bf16 = nullptr;
};

inline RowsOut rows_out(const View& view) {
  if (view.dtype == DType::kBF16) return {nullptr, view.bf16()};
  return {view.f32(), nullptr};
}

}  // namespace syrinx::cuda
