// The implementation of fft_pass.h, compiled in the namespace and for the instruction set of the
// including file. Therefore it uses no functions of the standard library.
namespace {

struct Complex {
  float re, im;
};

inline Complex at(const float* x, int i) { return {x[2 * i], x[2 * i + 1]}; }
inline void put(float* x, int i, Complex a) { x[2 * i] = a.re, x[2 * i + 1] = a.im; }
inline Complex add(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
inline Complex sub(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
inline Complex times(Complex a, Complex b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

template <bool kInverse>
Complex twiddle(const float* turns, int i) {
  const Complex t = at(turns, i);
  return {t.re, kInverse ? -t.im : t.im};
}

/// Returns a times -i, or times i in the inverse.
template <bool kInverse>
Complex quarter(Complex a) {
  return kInverse ? Complex{-a.im, a.re} : Complex{a.im, -a.re};
}

template <bool kInverse>
void pass2(const FftPass& f) {
  for (int j = 0; j < f.left; ++j) {
    const Complex w = twiddle<kInverse>(f.turns, j * f.done);
    const float *x = f.from + 2 * f.done * j, *y = x + 2 * f.done * f.left;
    float *out0 = f.to + 4 * f.done * j, *out1 = out0 + 2 * f.done;
    for (int q = 0; q < f.done; ++q) {
      const Complex a = at(x, q), b = at(y, q);
      put(out0, q, add(a, b));
      put(out1, q, times(sub(a, b), w));
    }
  }
}

template <bool kInverse>
void pass4(const FftPass& f) {
  const int step = f.done * f.left;
  for (int j = 0; j < f.left; ++j) {
    const Complex w1 = twiddle<kInverse>(f.turns, j * f.done);
    const Complex w2 = twiddle<kInverse>(f.turns, 2 * j * f.done);
    const Complex w3 = twiddle<kInverse>(f.turns, 3 * j * f.done);
    const float* x = f.from + 2 * f.done * j;
    float* out = f.to + 8 * f.done * j;
    for (int q = 0; q < f.done; ++q) {
      const Complex a = at(x, q), b = at(x, q + step), c = at(x, q + 2 * step),
                    d = at(x, q + 3 * step);
      const Complex sum = add(a, c), gap = sub(a, c), other = add(b, d);
      const Complex turned = quarter<kInverse>(sub(b, d));
      put(out, q, add(sum, other));
      put(out, q + f.done, times(add(gap, turned), w1));
      put(out, q + 2 * f.done, times(sub(sum, other), w2));
      put(out, q + 3 * f.done, times(sub(gap, turned), w3));
    }
  }
}

/// Runs a pass for any factor p of `half`, by the definition. Twiddle factors are computed outside
/// the inner loops, so that the compiler can vectorise these loops.
template <bool kInverse>
void pass_any(const FftPass& f) {
  for (int j = 0; j < f.left; ++j) {
    for (int s = 0; s < f.p; ++s) {
      float* out = f.to + 2 * f.done * (f.p * j + s);
      const float* first = f.from + 2 * f.done * j;
      for (int q = 0; q < 2 * f.done; ++q) out[q] = first[q];
      for (int r = 1; r < f.p; ++r) {
        const int64_t turn = int64_t{r} * s * (f.half / f.p) % f.half;
        const Complex w = twiddle<kInverse>(f.turns, static_cast<int>(turn));
        const float* x = f.from + 2 * f.done * (j + f.left * r);
        for (int q = 0; q < f.done; ++q) put(out, q, add(at(out, q), times(at(x, q), w)));
      }
      const Complex w = twiddle<kInverse>(f.turns, j * s * f.done);
      for (int q = 0; q < f.done; ++q) put(out, q, times(at(out, q), w));
    }
  }
}

template <bool kInverse>
void run(const FftPass& f) {
  if (f.p == 4) {
    pass4<kInverse>(f);
  } else if (f.p == 2) {
    pass2<kInverse>(f);
  } else {
    pass_any<kInverse>(f);
  }
}

}  // namespace

void pass(const FftPass& pass) { pass.inverse ? run<true>(pass) : run<false>(pass); }
