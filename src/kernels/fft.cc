#include "kernels/fft.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/cpu_features.h"
#include "kernels/cuda/kernels.h"
#include "kernels/fft_pass.h"

namespace syrinx {
namespace {

using Complex = std::complex<float>;

// Multiplies without the checks for NaN of std::complex, which make it several times slower.
Complex times(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

Complex turn(double part) {
  const double angle = -2 * std::numbers::pi * part;
  return {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
}

}  // namespace

RealFft::RealFft(int n) : n_(n) {
  SYRINX_CHECK(n >= 2 && n % 2 == 0, "[fft] size ", n, " is not even");
  const int half = n / 2;
  int rest = half;
  for (int p : {4, 2, 3, 5})
    for (; rest % p == 0; rest /= p) factors_.push_back(p);
  if (rest > 1) factors_.push_back(rest);
  for (int k = 0; k < half; ++k) turns_.push_back(turn(static_cast<double>(k) / half));
  for (int k = 0; k <= half; ++k) twists_.push_back(turn(static_cast<double>(k) / n));
}

namespace plain_fft {
#include "kernels/fft_pass_impl.h"
}  // namespace plain_fft

namespace {

void (*fft_pass_for_this_processor())(const FftPass&) {
#if defined(__x86_64__)
  if (cpu_features().avx2) return &avx2_fft::pass;
#endif
  return &plain_fft::pass;
}

void transform(std::span<const int> factors, int half, const Complex* turns, bool inverse,
               Complex* data, Complex* work) {
  const auto pass = fft_pass_for_this_processor();
  Complex *from = data, *to = work;
  int done = 1;
  for (const int p : factors) {
    pass({reinterpret_cast<const float*>(from), reinterpret_cast<float*>(to), p, half / done / p,
          done, reinterpret_cast<const float*>(turns), half, inverse});
    done *= p;
    std::swap(from, to);
  }
  if (from != data) std::copy_n(from, half, data);
}

}  // namespace

void RealFft::inverse(const Complex* spectrum, float* signal, Complex* scratch) const {
  const int half = n_ / 2;
  // Even and odd samples are the real and imaginary parts of one transform of half the size.
  for (int k = 0; k < half; ++k) {
    Complex a = spectrum[k], b = std::conj(spectrum[half - k]);
    if (k == 0) a = {a.real(), 0}, b = {b.real(), 0};  // these imaginary parts have no meaning
    const Complex odd = times(a - b, std::conj(twists_[k]));
    scratch[k] = a + b + Complex{-odd.imag(), odd.real()};
  }
  transform(factors_, half, turns_.data(), true, scratch, scratch + half);
  const float scale = 1.f / static_cast<float>(n_);
  for (int k = 0; k < half; ++k) {
    signal[2 * k] = scratch[k].real() * scale;
    signal[2 * k + 1] = scratch[k].imag() * scale;
  }
}

void RealFft::forward(const float* signal, Complex* spectrum, Complex* scratch) const {
  const int half = n_ / 2;
  for (int k = 0; k < half; ++k) scratch[k] = {signal[2 * k], signal[2 * k + 1]};
  transform(factors_, half, turns_.data(), false, scratch, scratch + half);
  const auto bin = [&](int k, Complex a, Complex other) {
    const Complex b = std::conj(other), even = 0.5f * (a + b), odd = 0.5f * (a - b);
    spectrum[k] = even + times({odd.imag(), -odd.real()}, twists_[k]);
  };
  bin(0, scratch[0], scratch[0]);
  for (int k = 1; k < half; ++k) bin(k, scratch[k], scratch[half - k]);
  bin(half, scratch[0], scratch[0]);
}

InverseStft::InverseStft(int n_fft, int hop) : fft_(n_fft), hop_(hop) {
  SYRINX_CHECK(hop > 0 && n_fft % hop == 0, "[inverse_stft] hop ", hop, " does not divide ", n_fft);
  for (int i = 0; i < n_fft; ++i)
    window_.push_back(static_cast<float>(0.5 - 0.5 * std::cos(2 * std::numbers::pi * i / n_fft)));
}

namespace {
void put_out(const float* sums, const float* weights, int64_t count, float* out) {
  for (int64_t i = 0; i < count; ++i) out[i] = weights[i] > 1e-11f ? sums[i] / weights[i] : sums[i];
}
}  // namespace

void InverseStft::push(const Complex* spectrum, int64_t frames, float* state, float* out,
                       Complex* scratch) const {
  const int n = n_fft();
  float *sums = state, *weights = state + n;
  auto* frame = reinterpret_cast<float*>(scratch + n);
  for (int64_t f = 0; f < frames; ++f) {
    fft_.inverse(spectrum + f * fft_.bins(), frame, scratch);
    for (int i = 0; i < n; ++i) {
      sums[i] += frame[i] * window_[i];
      weights[i] += window_[i] * window_[i];
    }
    put_out(sums, weights, hop_, out + f * hop_);
    for (float* part : {sums, weights}) {
      std::copy(part + hop_, part + n, part);
      std::fill(part + n - hop_, part + n, 0.f);
    }
  }
}

void InverseStft::flush(float* state, float* out) const {
  const int n = n_fft();
  put_out(state, state + n, n - hop_, out);
  std::fill_n(state, 2 * n, 0.f);
}

void inverse_stft(StepContext& ctx, const InverseStft& plan, const View& spectrum,
                  const View& state, const View& out) {
  const int n = plan.n_fft();
  const int64_t frames = spectrum.shape[0];
  expect_shape("inverse_stft", spectrum, {frames, int64_t{n} + 2});
  expect_shape("inverse_stft", state, {2, n});
  expect_shape("inverse_stft", out, {frames * plan.hop()});
  if (spectrum.device == Device::kCuda)
    return cuda::inverse_stft(ctx, spectrum, n, plan.hop(), plan.window(), state, out);
  const Arena::Mark mark(ctx.arena);
  const View scratch = ctx.arena.take({2 * plan.scratch_size()}, DType::kF32);
  plan.push(reinterpret_cast<const Complex*>(spectrum.f32()), frames, state.f32(), out.f32(),
            reinterpret_cast<Complex*>(scratch.f32()));
}

}  // namespace syrinx
