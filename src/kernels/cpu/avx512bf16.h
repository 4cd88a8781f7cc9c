// Numbers for vdpbf16ps. Only for files that are compiled for AVX512-BF16.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace syrinx::cpu {

/// Returns the two bf16 numbers at `x` in each pair of lanes.
inline __m512bh all_pairs(const uint16_t* x) {
  int pair;
  __builtin_memcpy(&pair, x, sizeof pair);
  __m512i lanes = _mm512_set1_epi32(pair);
#if defined(__clang__) && __clang_major__ < 18
  asm("" : "+v"(lanes));  // Clang 16 and 17 crash if vdpbf16ps reads the pair from memory
#endif
  return reinterpret_cast<__m512bh>(lanes);
}

}  // namespace syrinx::cpu
