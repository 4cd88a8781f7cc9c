// Ends the section that simd_begin.h began.
#if defined(__x86_64__)
#if defined(__clang__)
#pragma clang attribute pop
#elif defined(__GNUC__)
#pragma GCC pop_options
#endif
#endif
