// What this processor can run, asked once. Code built for more than the base instruction set lives
// in files named *_avx2.cc and *_avx512.cc (see cmake/syrinx_library.cmake) and is called only
// after this said yes.
#pragma once

namespace syrinx {

struct CpuFeatures {
  bool avx2 = false;    ///< AVX2, FMA and F16C
  bool avx512 = false;  ///< all of that and AVX-512 F, BW, VL, DQ
};

/// Safe from any thread.
const CpuFeatures& cpu_features();

}  // namespace syrinx
