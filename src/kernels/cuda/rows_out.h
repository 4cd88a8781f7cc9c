// Rows that a kernel writes for products alone: f32, or rounded to bf16 as the product would.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace syrinx::cuda {

/// One of the pointers is null.
struct RowsOut {
  float* f32 = nullptr;
  uint16_t* bf16 = nullptr;
};

inline RowsOut rows_out(const View& view) {
  if (view.dtype == DType::kBF16) return {nullptr, view.bf16()};
  return {view.f32(), nullptr};
}

}  // namespace syrinx::cuda
