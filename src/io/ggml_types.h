// How ggml keeps numbers: rows of blocks, each of a few numbers in few bits with scales of their
// own. Free functions; any thread.
// Layouts: ggml-org/ggml:src/ggml-common.h; formulas: ggml-org/ggml:src/ggml-quants.c,
// dequantize_row_*.
#pragma once

#include <cstddef>
#include <cstdint>

namespace syrinx {

struct GgmlType {
  uint32_t number = 0;     ///< in GGUF files
  const char* name = "";   ///< "Q4_K"
  int64_t block = 1;       ///< numbers of a block
  size_t block_bytes = 4;  ///< bytes of a block
  /// Writes the numbers of a block as f32, exactly; `from` may lie at any address. Null: numbers
  /// that are read as they are (f32, f16, bf16).
  void (*unpack)(const uint8_t* from, float* to) = nullptr;
};

/// Null when the type is unknown or unsupported.
const GgmlType* ggml_type(uint32_t number);

}  // namespace syrinx
