// One pass of Stockham's form (van Loan, "Computational frameworks for the FFT", 1992): splits off
// one factor p and leaves the data in order, so there is no permutation. The same code for plain
// vectors and for AVX2, with the same bits.
#pragma once

#include <cstdint>

namespace syrinx {

/// Complex numbers in pairs. `done` is the product of the factors passed, `left` the number of
/// transforms that remain; input r of a butterfly is at from[q + done * (j + left * r)], output s
/// goes to to[q + done * (p * j + s)]. turns [half]: exp(-2 pi i k / half).
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
