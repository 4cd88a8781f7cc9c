// Real inverse FFT and the streaming inverse STFT of vocoder heads. Plans are made at load; a step
// allocates nothing. Results do not depend on the batch nor on how frames are cut into chunks.
#pragma once

#include <complex>
#include <span>
#include <vector>

#include "tensor/context.h"

namespace syrinx {

/// Tables for one even size n whose half has only the factors 2, 3, 5 (others work, in O(n^2)).
/// Const after construction, shared by threads.
class RealFft {
 public:
  explicit RealFft(int n);
  int size() const { return n_; }
  int bins() const { return n_ / 2 + 1; }

  /// spectrum [bins] -> signal [n], scaled by 1/n (numpy.fft.irfft). scratch [n] complex.
  void inverse(const std::complex<float>* spectrum, float* signal,
               std::complex<float>* scratch) const;
  /// signal [n] -> spectrum [bins] (numpy.fft.rfft).
  void forward(const float* signal, std::complex<float>* spectrum,
               std::complex<float>* scratch) const;

 private:
  int n_ = 0;
  std::vector<int> factors_;                 // of n / 2
  std::vector<std::complex<float>> turns_;   // exp(-2 pi i k / (n / 2))
  std::vector<std::complex<float>> twists_;  // exp(-2 pi i k / n), k <= n / 2
};

/// Overlap-add of windowed frames, sample by sample as frames arrive.
/// Formula: torch.istft: sum of w * irfft(frame), divided by the sum of w^2.
class InverseStft {
 public:
  /// Periodic Hann window of n_fft. hop divides n_fft.
  InverseStft(int n_fft, int hop);

  int hop() const { return hop_; }
  int n_fft() const { return fft_.size(); }
  const RealFft& fft() const { return fft_; }
  std::span<const float> window() const { return window_; }

  /// State of one stream: what later frames still add to, [2][n_fft] (samples, window sums).
  int64_t state_size() const { return 2 * int64_t{n_fft()}; }

  /// Adds `frames` frames of [bins] complex and puts out frames * hop finished samples: the samples
  /// that start where each frame starts. What torch trims at the front (n_fft / 2 with center) is
  /// the caller's to drop; `flush` puts out the n_fft - hop samples that remain at the end.
  void push(const std::complex<float>* spectrum, int64_t frames, float* state, float* out,
            std::complex<float>* scratch) const;
  void flush(float* state, float* out) const;
  /// Complex numbers of scratch for push.
  int64_t scratch_size() const { return 2 * int64_t{n_fft()}; }

 private:
  RealFft fft_;
  int hop_;
  std::vector<float> window_;
};

/// `plan`.push with operands on any device: spectrum [F, 2 * bins] f32 (pairs), state [2, n_fft],
/// out [F * hop]. On a GPU frames are transformed by the definition, O(n_fft^2) a frame.
void inverse_stft(StepContext& ctx, const InverseStft& plan, const View& spectrum,
                  const View& state, const View& out);

}  // namespace syrinx
