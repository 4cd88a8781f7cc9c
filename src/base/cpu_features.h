// Features of this processor, detected once. Code for more than the base instruction set is in
// files named after the feature (see cmake/syrinx_library.cmake). Such code is called only if the
// processor has the feature.
#pragma once

namespace syrinx {

struct CpuFeatures {
  bool avx2 = false;         ///< AVX2, FMA and F16C
  bool avx_vnni = false;     ///< all of avx2, and AVX-VNNI
  bool avx512 = false;       ///< all of avx2, and AVX-512 F, BW, VL, DQ
  bool avx512_vnni = false;  ///< all of avx512, and AVX512-VNNI
  bool avx512_bf16 = false;  ///< all of avx512_vnni, and AVX512-BF16
  bool amx = false;       ///< all of avx512_bf16, AMX TILE, INT8 and BF16; permitted by the kernel
  bool neon = false;      ///< true on every aarch64
  bool neon_dot = false;  ///< neon, and dot products of 8 bits (FEAT_DotProd)
  bool quick_dots = false;  ///< avx512_bf16, and a dot product takes less time than two FMAs

  /// Returns whether the vector types of kernels/cpu/simd.h work.
  bool simd() const { return avx2 || neon; }
};

/// Returns the features. The environment variable SYRINX_CPU disables the features above the level
/// that it names, to measure or test what another machine would run. Levels: portable, avx2,
/// avxvnni, avx512, avx512vnni, avx512bf16, amx; on aarch64 portable, neon, neondot. Any other
/// value throws LoadError. Any thread. On a processor with AMX, the first call requests the
/// kernel's permission to use tiles, for the whole process.
const CpuFeatures& cpu_features();

}  // namespace syrinx
