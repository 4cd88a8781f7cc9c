// Mel spectrograms of recordings, in the variants that speech models use: frames of a signal, a
// window, |FFT| or |FFT|^2, triangular bands on a mel scale, a logarithm. Const after construction,
// shared by threads. A frame's bits do not depend on how a signal is cut into calls. Formulas:
// torch.stft and librosa.filters.mel (Slaney and HTK bands), torchaudio.compliance.kaldi
// (get_mel_banks, fbank). T frames, M bands.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/fft.h"

namespace syrinx {

/// The window by which a frame is multiplied.
enum class MelWindow : uint8_t { kHann, kHannSymmetric, kHamming, kPovey };
/// Scale of the bands. Slaney: linear below 1 kHz, then logarithmic. HTK: 2595 log10(1 + f / 700).
/// Kaldi: HTK's scale, with triangles that are linear in mels instead of hertz.
enum class MelScale : uint8_t { kSlaney, kHtk, kKaldi };
/// Power of a bin: |X|^2, |X|, or sqrt(|X|^2 + 1e-9) as in vocoders like HiFi-GAN.
enum class MelPower : uint8_t { kPower, kMagnitude, kSoftMagnitude };

/// Logarithm of the bands' energies.
enum class MelLog : uint8_t { kNone, kNatural, kLog10 };
/// Positions of the frames. kReflect and kZero: centred on multiples of the hop, with the ends
/// reflected or zero (torch.stft with center). kHalfHop: with (n_fft - hop) / 2 reflected samples
/// at both ends (HiFi-GAN). kWhole: only where a whole window fits (Kaldi).
enum class MelFraming : uint8_t { kReflect, kZero, kHalfHop, kWhole };

/// Options of one model's spectrogram.
struct MelOptions {
  int sample_rate = 16000;  ///< sample rate in Hz
  int n_fft = 400;          ///< even; shorter windows are padded with zeros
  /// Samples; 0 means n_fft. The window is in the middle of n_fft, except with kWhole.
  int window = 0;
  int hop = 160;  ///< samples from frame to frame
  int mels = 80;
  double low_hz = 0, high_hz = 0;  ///< band limits; high_hz 0 means half the sample rate
  MelWindow shape = MelWindow::kHann;
  MelFraming framing = MelFraming::kReflect;
  MelScale scale = MelScale::kSlaney;
  bool area_norm = true;  ///< divides bands by half their width in Hz (librosa's norm "slaney")
  MelPower power = MelPower::kPower;
  MelLog log = MelLog::kNatural;
  float floor = 1e-5f;  ///< the result is log(max(x + offset, floor))
  float offset = 0;
  bool remove_mean = false;  ///< subtract each frame's mean before the window
  float preemphasis = 0;     ///< factor; applied to each frame after remove_mean
};

/// Returns Whisper's options: 25 ms every 10 ms at 16 kHz, log10. To get Whisper's input, the
/// caller must drop the last frame, as Whisper does, and then call whisper_compress().
MelOptions whisper_mel(int mels);
/// Returns the options of Kaldi's fbank with its defaults: 16 kHz, without dither. Kaldi uses
/// 16-bit numbers, but many models were trained on samples in [-1, 1]. The caller must scale.
MelOptions kaldi_fbank(int mels);

/// Computes frames of mel energies of a signal, at once or in parts.
class MelSpectrogram {
 public:
  /// Throws InternalError for contradictory options.
  explicit MelSpectrogram(const MelOptions& options);

  const MelOptions& options() const { return options_; }
  int mels() const { return options_.mels; }
  /// Returns the number of frames; 0 if the signal is too short for a frame or for
  /// reflection.
  int64_t frames(int64_t samples) const;
  /// Computes frames [begin, end) of the whole signal, out [end - begin, M].
  void run(std::span<const float> signal, int64_t begin, int64_t end, float* out) const;
  /// Computes all frames, [T, M].
  std::vector<float> operator()(std::span<const float> signal) const;

 private:
  struct Band {
    int begin = 0;               // first bin of the band
    std::vector<float> weights;  // weights of the bins from `begin` on
  };
  /// Returns how many samples before the signal belong to the first frame.
  int64_t lead() const;
  void fill_bands();
  void cut(std::span<const float> signal, int64_t frame, float* out) const;

  MelOptions options_;
  RealFft fft_;
  std::vector<float> window_;
  std::vector<Band> bands_;
};

/// Applies Whisper's compression to a whole log10 mel: at most 8 below the largest value, then (x +
/// 4) / 4.
void whisper_compress(std::span<float> mel);
/// Compresses a part of a mel whose largest value is known.
void whisper_compress(std::span<float> mel, float largest);

/// The values of a whole mel that are needed to compress a part of it.
struct MelExtremes {
  float loudest = 0;  ///< largest value of all frames
  /// Smallest value of each group of `span` frames; the last group may be shorter.
  std::vector<float> quietest;
  /// Returns whether group `part` has values more than 8 below `loudest`, which clips these values.
  bool floored(size_t part) const;
};
/// Computes the extremes of the first `frames` frames, at least 1, with Whisper's options.
MelExtremes mel_extremes(const MelSpectrogram& mel, std::span<const float> signal, int64_t frames,
                         int64_t span);

}  // namespace syrinx
