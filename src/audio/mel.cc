#include "audio/mel.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/check.h"

namespace syrinx {
namespace {

constexpr float kDecades = 8;  // decades of power that Whisper's compression keeps

double to_mel(MelScale scale, double hz) {
  if (scale != MelScale::kSlaney) return 1127 * std::log1p(hz / 700);
  const double step = 200.0 / 3;
  return hz < 1000 ? hz / step : 15 + std::log(hz / 1000) * 27 / std::log(6.4);
}

double to_hz(MelScale scale, double mel) {
  if (scale != MelScale::kSlaney) return 700 * std::expm1(mel / 1127);
  const double step = 200.0 / 3;
  return mel < 15 ? mel * step : 1000 * std::exp((mel - 15) * std::log(6.4) / 27);
}

std::vector<float> make_window(MelWindow shape, int size) {
  const int turn = shape == MelWindow::kHann ? size : size - 1;
  std::vector<float> window;
  for (int i = 0; i < size; ++i) {
    const double c = std::cos(2 * std::numbers::pi * i / turn), hann = 0.5 - 0.5 * c;
    const double w = shape == MelWindow::kHamming ? 0.54 - 0.46 * c
                     : shape == MelWindow::kPovey ? std::pow(hann, 0.85)
                                                  : hann;
    window.push_back(static_cast<float>(w));
  }
  return window;
}

MelOptions checked(MelOptions o) {
  if (o.window == 0) o.window = o.n_fft;
  if (o.high_hz == 0) o.high_hz = o.sample_rate / 2.0;
  SYRINX_CHECK(o.n_fft > 1 && o.window > 1 && o.window <= o.n_fft && o.hop > 0 && o.mels > 0,
               "[mel] window ", o.window, ", n_fft ", o.n_fft, ", hop ", o.hop, ", mels ", o.mels);
  SYRINX_CHECK(o.low_hz >= 0 && o.low_hz < o.high_hz && o.high_hz <= o.sample_rate / 2.0,
               "[mel] bands from ", o.low_hz, " to ", o.high_hz, " Hz at ", o.sample_rate, " Hz");
  SYRINX_CHECK(o.framing != MelFraming::kHalfHop || (o.hop <= o.n_fft), "[mel] hop ", o.hop,
               " is more than n_fft ", o.n_fft);
  return o;
}

}  // namespace

MelOptions whisper_mel(int mels) {
  MelOptions o;
  o.mels = mels;
  o.log = MelLog::kLog10;
  o.floor = 1e-10f;
  return o;
}

MelOptions kaldi_fbank(int mels) {
  MelOptions o;
  o.n_fft = 512, o.window = 400, o.mels = mels, o.low_hz = 20;
  o.shape = MelWindow::kPovey;
  o.framing = MelFraming::kWhole;
  o.scale = MelScale::kKaldi, o.area_norm = false;
  o.floor = 1.1920929e-07f;  // epsilon of f32
  o.remove_mean = true, o.preemphasis = 0.97f;
  return o;
}

MelSpectrogram::MelSpectrogram(const MelOptions& options)
    : options_(checked(options)),
      fft_(options_.n_fft),
      window_(make_window(options_.shape, options_.window)) {
  fill_bands();
}

void MelSpectrogram::fill_bands() {
  const MelOptions& o = options_;
  const double low = to_mel(o.scale, o.low_hz),
               step = (to_mel(o.scale, o.high_hz) - low) / (o.mels + 1);
  const bool over_mels = o.scale == MelScale::kKaldi;
  auto edge = [&](int i) { return over_mels ? low + step * i : to_hz(o.scale, low + step * i); };
  for (int m = 0; m < o.mels; ++m) {
    const double left = edge(m), centre = edge(m + 1), right = edge(m + 2);
    const double gain = o.area_norm ? 2 / (right - left) : 1;
    Band band;
    // Kaldi ignores the last bin.
    for (int k = 0; k < fft_.bins() - over_mels; ++k) {
      const double hz = static_cast<double>(k) * o.sample_rate / o.n_fft;
      const double x = over_mels ? to_mel(o.scale, hz) : hz;
      const double w = std::min((x - left) / (centre - left), (right - x) / (right - centre));
      if (w <= 0) continue;
      if (band.weights.empty()) band.begin = k;
      band.weights.push_back(static_cast<float>(w * gain));
    }
    bands_.push_back(std::move(band));
  }
}

int64_t MelSpectrogram::lead() const {
  switch (options_.framing) {
    case MelFraming::kReflect:
    case MelFraming::kZero:
      return options_.n_fft / 2;
    case MelFraming::kHalfHop:
      return (options_.n_fft - options_.hop) / 2;
    case MelFraming::kWhole:
      break;
  }
  return 0;
}

int64_t MelSpectrogram::frames(int64_t samples) const {
  const bool whole = options_.framing == MelFraming::kWhole;
  const int64_t size = whole ? options_.window : options_.n_fft;
  if (samples <= 0 || samples + 2 * lead() < size) return 0;
  if (options_.framing != MelFraming::kZero && samples <= lead()) return 0;
  return (samples + 2 * lead() - size) / options_.hop + 1;
}

/// Computes the windowed part of a frame, out [window].
void MelSpectrogram::cut(std::span<const float> signal, int64_t frame, float* out) const {
  const MelOptions& o = options_;
  const auto count = static_cast<int64_t>(signal.size());
  const int64_t aside = o.framing == MelFraming::kWhole ? 0 : (o.n_fft - o.window) / 2;
  const int64_t begin = frame * o.hop - lead() + aside;
  for (int64_t i = 0; i < o.window; ++i) {
    int64_t at = begin + i;
    const bool outside = at < 0 || at >= count;
    if (outside && o.framing == MelFraming::kZero) {
      out[i] = 0;
      continue;
    }
    if (at < 0) at = -at;
    if (at >= count) at = 2 * count - 2 - at;
    out[i] = signal[at];
  }
  if (o.remove_mean) {
    double sum = 0;
    for (int i = 0; i < o.window; ++i) sum += out[i];
    const auto mean = static_cast<float>(sum / o.window);
    for (int i = 0; i < o.window; ++i) out[i] -= mean;
  }
  if (o.preemphasis != 0)
    for (int i = o.window - 1; i >= 0; --i) out[i] -= o.preemphasis * out[std::max(i - 1, 0)];
  for (int i = 0; i < o.window; ++i) out[i] *= window_[i];
}

void MelSpectrogram::run(std::span<const float> signal, int64_t begin, int64_t end,
                         float* out) const {
  const MelOptions& o = options_;
  SYRINX_CHECK(begin >= 0 && begin <= end && end <= frames(static_cast<int64_t>(signal.size())),
               "[mel] no frames ", begin, " to ", end, " in ", signal.size(), " samples");
  std::vector<float> frame(o.n_fft), power(fft_.bins());
  std::vector<std::complex<float>> spectrum(fft_.bins()), scratch(o.n_fft);
  // Each window begins at 0 of n_fft: its position changes only phases, which are not used.
  for (int64_t t = begin; t < end; ++t) {
    cut(signal, t, frame.data());
    fft_.forward(frame.data(), spectrum.data(), scratch.data());
    for (int k = 0; k < fft_.bins(); ++k) {
      const float square =
          spectrum[k].real() * spectrum[k].real() + spectrum[k].imag() * spectrum[k].imag();
      power[k] = o.power == MelPower::kPower       ? square
                 : o.power == MelPower::kMagnitude ? std::sqrt(square)
                                                   : std::sqrt(square + 1e-9f);
    }
    for (const Band& band : bands_) {
      float sum = 0;
      for (size_t k = 0; k < band.weights.size(); ++k)
        sum += band.weights[k] * power[band.begin + k];
      if (o.log != MelLog::kNone) {
        sum = std::max(sum + o.offset, o.floor);
        sum = o.log == MelLog::kNatural ? std::log(sum) : std::log10(sum);
      }
      *out++ = sum;
    }
  }
}

std::vector<float> MelSpectrogram::operator()(std::span<const float> signal) const {
  const int64_t count = frames(static_cast<int64_t>(signal.size()));
  std::vector<float> out(count * mels());
  run(signal, 0, count, out.data());
  return out;
}

void whisper_compress(std::span<float> mel) {
  if (!mel.empty()) whisper_compress(mel, *std::max_element(mel.begin(), mel.end()));
}

void whisper_compress(std::span<float> mel, float largest) {
  const float least = largest - kDecades;
  for (float& x : mel) x = (std::max(x, least) + 4) / 4;
}

bool MelExtremes::floored(size_t part) const { return quietest[part] < loudest - kDecades; }

MelExtremes mel_extremes(const MelSpectrogram& mel, std::span<const float> signal, int64_t frames,
                         int64_t span) {
  SYRINX_CHECK(frames > 0 && span > 0, "[mel] invalid: ", frames, " frames, span ", span);
  MelExtremes out{.loudest = -std::numeric_limits<float>::infinity(), .quietest = {}};
  std::vector<float> part(static_cast<size_t>(std::min(span, frames) * mel.mels()));
  for (int64_t at = 0; at < frames; at += span) {
    const int64_t end = std::min(at + span, frames);
    mel.run(signal, at, end, part.data());
    const auto [least, most] =
        std::minmax_element(part.begin(), part.begin() + (end - at) * mel.mels());
    out.quietest.push_back(*least);
    out.loudest = std::max(out.loudest, *most);
  }
  return out;
}

}  // namespace syrinx
