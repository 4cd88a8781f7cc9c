#include "kernels/fft_pass.h"

// AVX2 without FMA. If FMA were enabled, GCC would use it for products of complex numbers, even
// with -ffp-contract=off.
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#elif defined(__GNUC__)
#pragma GCC push_options
#pragma GCC target("avx2")
#endif

namespace syrinx::avx2_fft {
#include "kernels/fft_pass_impl.h"
}  // namespace syrinx::avx2_fft

#if defined(__clang__)
#pragma clang attribute pop
#elif defined(__GNUC__)
#pragma GCC pop_options
#endif
