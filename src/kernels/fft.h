// Real inverse FFT, and the streaming inverse STFT of vocoder heads. Plans are made at load; a step
// allocates nothing. Results depend neither on the batch nor on how frames are cut into chunks.
#pragma once

#include <complex>
#include <span>
#include <vector>

#include "tensor/context.h"

namespace syrinx {

/// Tables for one even size n. Fast if n / 2 has only the factors 2, 3 and 5; other sizes need
/// O(n^2). Const after construction; threads may share it.
class RealFft {
 public:
  explicit RealFft(int n);
  int size() const { return n_; }
  int bins() const { return n_ / 2 + 1; }

  /// Transforms spectrum [bins] -> signal [n], scaled by 1/n (numpy.fft.irfft). scratch [n]
  /// complex.
  void inverse(const std::complex<float>* spectrum, float* signal,
               std::complex<float>* scratch) const;
  /// Transforms signal [n] -> spectrum [bins] (numpy.fft.rfft).
  void forward(const float* signal, std::complex<float>* spectrum,
               std::complex<float>* scratch) const;

 private:
  int n_ = 0;
  std::vector<int> factors_;                 // factors of n / 2
  std::vector<std::complex<float>> turns_;   // exp(-2 pi i k / (n / 2))
  std::vector<std::complex<float>> twists_;  // exp(-2 pi i k / n), k <= n / 2
};

/// Adds overlapping windowed frames as they arrive. Formula (torch.istft): the sum of w *
/// irfft(frame), divided by the sum of w^2.
class InverseStft {
 public:
  /// Uses a periodic Hann window of n_fft. hop must divide n_fft.
  InverseStft(int n_fft, int hop);

  int hop() const { return hop_; }
  int n_fft() const { return fft_.size(); }
  const RealFft& fft() const { return fft_; }
  std::span<const float> window() const { return window_; }

  /// Returns the size of a stream's state [2][n_fft]: the sums of samples and of windows to which
  /// later frames will add.
  int64_t state_size() const { return 2 * int64_t{n_fft()}; }

  /// Adds `frames` frames of [bins] complex, and writes the frames * hop samples that are final. If
  /// torch trims samples at the front (n_fft / 2 with center), the caller must drop them. `flush`
  /// also writes the n_fft - hop samples that remain at the end.
  void push(const std::complex<float>* spectrum, int64_t frames, float* state, float* out,
            std::complex<float>* scratch) const;
  void flush(float* state, float* out) const;
  /// Returns the size of push()'s scratch memory in complex numbers.
  int64_t scratch_size() const { return 2 * int64_t{n_fft()}; }

 private:
  RealFft fft_;
  int hop_;
  std::vector<float> window_;
};

/// Runs plan.push() with operands on any device: spectrum [F, 2 * bins] f32 (pairs), state [2,
/// n_fft], out [F * hop]. A GPU transforms frames by the definition, O(n_fft^2) per frame.
void inverse_stft(StepContext& ctx, const InverseStft& plan, const View& spectrum,
                  const View& state, const View& out);

}  // namespace syrinx
