// One pass of Stockham's FFT (van Loan, "Computational frameworks for the FFT", 1992). It splits
// off one factor p and keeps the data in order, so that no permutation is needed. Portable and AVX2
// code have the same bits.
#pragma once

#include <cstdint>

namespace syrinx {

/// A pass on complex numbers, stored as pairs. `done` is the product of the factors of earlier
/// passes, `left` is the number of remaining transforms. Input r of a butterfly is from[q + done *
/// (j + left * r)]; output s is to[q + done * (p * j + s)]. turns [half]: exp(-2 pi i k / half).
struct FftPass {
  const float* from;
  float* to;
  int p, left, done;
  const float* turns;
  int half;
  bool inverse;
};

namespace plain_fft {
void pass(const FftPass& pass);
}
namespace avx2_fft {
void pass(const FftPass& pass);
}

}  // namespace syrinx
