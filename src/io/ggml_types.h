// The number types of ggml. A row has blocks; a block has a few numbers in few bits,
// with its own scales. Free functions; any thread. Layouts:
// ggml-org/ggml:src/ggml-common.h. Formulas: ggml-org/ggml:src/ggml-quants.c,
// dequantize_row_*.
#pragma once

#include <cstddef>
#include <cstdint>

namespace syrinx {

struct GgmlType {
  uint32_t number = 0;     ///< number of the type in GGUF files
  const char* name = "";   ///< e.g. "Q4_K"
  int64_t block = 1;       ///< numbers per block
  size_t block_bytes = 4;  ///< bytes per block
  /// Writes the numbers of a block as f32, exactly. `from` needs no alignment. Null if the type
  /// needs no unpacking (f32, f16, bf16).
  void (*unpack)(const uint8_t* from, float* to) = nullptr;
};

/// Returns the type; null if it is unknown or unsupported.
const GgmlType* ggml_type(uint32_t number);

}  // namespace syrinx
