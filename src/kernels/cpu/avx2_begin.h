// From here to avx2_end.h functions are compiled for AVX2 + FMA + F16C, the rest of the file is
// not: so no inline function of the standard library is ever emitted with instructions that another
// machine lacks. Include it after all other headers; no include guard on purpose.
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#elif defined(__GNUC__)
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c")
#endif
