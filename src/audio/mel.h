// Mel spectrograms of recordings, in the variants that speech models were trained with: frames of
// a signal, windowed, |FFT| or |FFT|^2, triangular bands on a mel scale, a logarithm. Const after
// construction, shared by threads; a frame is the same bits however a signal is cut into calls.
// Formulas: torch.stft and librosa.filters.mel (Slaney and HTK bands), torchaudio.compliance.kaldi
// (get_mel_banks, fbank). T frames, M bands.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/fft.h"

namespace syrinx {

/// The window that a frame is multiplied with.
enum class MelWindow : uint8_t { kHann, kHannSymmetric, kHamming, kPovey };
/// Slaney: linear below 1 kHz, then logarithmic. HTK: 2595 log10(1 + f / 700). Kaldi: HTK's scale,
/// but the triangles are straight over mels instead of hertz.
enum class MelScale : uint8_t { kSlaney, kHtk, kKaldi };
/// |X|^2, |X|, or sqrt(|X|^2 + 1e-9) as vocoders of the HiFi-GAN kind have it.
enum class MelPower : uint8_t { kPower, kMagnitude, kSoftMagnitude };

/// Logarithm that is taken of the bands' energies.
enum class MelLog : uint8_t { kNone, kNatural, kLog10 };
/// Where frames lie: centred on multiples of the hop with the ends reflected or zero (torch.stft
/// with center); with (n_fft - hop) / 2 reflected samples at both ends (HiFi-GAN); or only where a
/// whole window fits (Kaldi).
enum class MelFraming : uint8_t { kReflect, kZero, kHalfHop, kWhole };

/// How one model's spectrogram differs from another's.
struct MelOptions {
  int sample_rate = 16000;  ///< Hz
  int n_fft = 400;          ///< even; frames are padded with zeros to it
  int window = 0;           ///< samples; 0: n_fft. In the middle of n_fft unless framing is kWhole
  int hop = 160;            ///< samples
  int mels = 80;
  double low_hz = 0, high_hz = 0;  ///< high 0: half the sample rate
  MelWindow shape = MelWindow::kHann;
  MelFraming framing = MelFraming::kReflect;
  MelScale scale = MelScale::kSlaney;
  bool area_norm = true;  ///< bands divided by half their width in Hz (librosa's norm "slaney")
  MelPower power = MelPower::kPower;
  MelLog log = MelLog::kNatural;
  float floor = 1e-5f;  ///< the logarithm is of max(x + offset, floor)
  float offset = 0;
  bool remove_mean = false;  ///< of each frame, before the window
  float preemphasis = 0;     ///< of each frame, after remove_mean
};

/// Whisper's: 25 ms every 10 ms at 16 kHz, log10. The authors drop the last frame, then compress().
MelOptions whisper_mel(int mels);
/// Kaldi's fbank with its defaults, 16 kHz, no dither. Kaldi itself works on 16-bit numbers; many
/// models were trained on samples in [-1, 1], so scaling is the caller's.
MelOptions kaldi_fbank(int mels);

/// Frames of mel energies of a signal, whole or as it comes.
class MelSpectrogram {
 public:
  /// Throws InternalError for options that contradict themselves.
  explicit MelSpectrogram(const MelOptions& options);

  const MelOptions& options() const { return options_; }
  int mels() const { return options_.mels; }
  /// Frames of a signal; 0 when it is too short for one or for being reflected.
  int64_t frames(int64_t samples) const;
  /// Frames [begin, end) of the whole signal, out [end - begin, M].
  void run(std::span<const float> signal, int64_t begin, int64_t end, float* out) const;
  /// All frames, [T, M].
  std::vector<float> operator()(std::span<const float> signal) const;

 private:
  struct Band {
    int begin = 0;               // first bin
    std::vector<float> weights;  // of the bins from there
  };
  /// Samples before the first one that the first frame covers.
  int64_t lead() const;
  void fill_bands();
  void cut(std::span<const float> signal, int64_t frame, float* out) const;

  MelOptions options_;
  RealFft fft_;
  std::vector<float> window_;
  std::vector<Band> bands_;
};

/// Whisper's compression of a whole log10 mel: at most 8 below the largest, then (x + 4) / 4.
void whisper_compress(std::span<float> mel);
/// The same for a part of a mel whose largest value is known.
void whisper_compress(std::span<float> mel, float largest);

/// Values of the whole mel that are needed to compress a part of it.
struct MelExtremes {
  float loudest = 0;            ///< of all frames
  std::vector<float> quietest;  ///< of every `span` frames; the last of them may be fewer
  /// Whether the part has values below the floor, so that it depends on the loudest frame.
  bool floored(size_t part) const;
};
/// Computes the first `frames`, at least 1, with Whisper's options.
MelExtremes mel_extremes(const MelSpectrogram& mel, std::span<const float> signal, int64_t frames,
                         int64_t span);

}  // namespace syrinx
