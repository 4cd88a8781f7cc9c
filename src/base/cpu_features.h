// What this processor can run, asked once. Code built for more than the base instruction set lives
// in files named after it (see cmake/syrinx_library.cmake) and is called only after this said yes.
#pragma once

namespace syrinx {

struct CpuFeatures {
  bool avx2 = false;         ///< AVX2, FMA and F16C
  bool avx_vnni = false;     ///< all of avx2, and AVX-VNNI
  bool avx512 = false;       ///< all of avx2, and AVX-512 F, BW, VL, DQ
  bool avx512_vnni = false;  ///< all of avx512, and AVX512-VNNI
  bool avx512_bf16 = false;  ///< all of avx512_vnni, and AVX512-BF16
  bool amx = false;          ///< all of avx512_bf16, AMX TILE, INT8 and BF16, and leave to use them
  bool neon = false;         ///< every aarch64
  bool neon_dot = false;     ///< and dot products of 8 bits (FEAT_DotProd)

  /// What kernels/cpu/simd.h is made of.
  bool simd() const { return avx2 || neon; }
};

/// The environment's SYRINX_CPU = portable | avx2 | avxvnni | avx512 | avx512vnni | avx512bf16 |
/// amx, on aarch64 portable | neon | neondot, leaves out what is above that, to measure or test
/// what another machine would run; another value throws LoadError. Safe from any thread. Where
/// there is AMX the first call asks the kernel for leave to use its tiles, for the whole process.
const CpuFeatures& cpu_features();

}  // namespace syrinx
