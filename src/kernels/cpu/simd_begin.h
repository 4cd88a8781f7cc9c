// Functions between this file and simd_end.h are compiled for the vectors of simd.h, the rest of
// the file is not. So no inline function of the standard library contains instructions that another
// machine lacks. On x86-64 these instructions are AVX2, FMA and F16C; every aarch64 has NEON.
// Include this file after all other headers. It has no include guard on purpose.
#if defined(__aarch64__)
#include <arm_neon.h>
#else
#include <immintrin.h>
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#elif defined(__GNUC__)
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c")
#endif
#endif
