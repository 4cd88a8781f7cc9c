// Makes speech from mel cepstra: the spectrum of each frame, excited by pulses and noise. Formulas:
// S. Imai, Cepstral analysis synthesis on the mel frequency scale (ICASSP 1983). The filter is
// computed by FFT, in windows of 10 ms, not by recursion. One thread.
#pragma once

#include <complex>
#include <memory>
#include <vector>

struct AVTXContext;

class Vocoder {
 public:
  /// `alpha` warps the cepstra of `order` + 1 numbers. `breath` returns the share of noise in the
  /// amplitude of voiced speech at a frequency in kHz. 32000 samples and 200 frames a second.
  Vocoder(double alpha, int order, double (*breath)(double khz));
  ~Vocoder();

  struct Frame {
    const double* cepstrum = nullptr;  // [order + 1]
    double pitch = 0;                  // Hz, 0 where unvoiced
  };
  /// Returns 160 samples per frame, in units of the cepstra. Equal frames get equal noise.
  std::vector<float> speak(const std::vector<Frame>& frames);

 private:
  struct Excitation;
  struct Transform;
  std::vector<float> warped_cos_, warped_sin_;  // [order + 1][bins]
  std::vector<float> tone_, hiss_, window_;     // gains [bins], Hann's [2 hops]
  std::unique_ptr<Transform> forward_, inverse_;
};
