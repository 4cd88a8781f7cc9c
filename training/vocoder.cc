#include "vocoder.h"

#include <algorithm>
#include <cmath>
#include <random>

extern "C" {
#include <libavutil/mem.h>
#include <libavutil/tx.h>
}

namespace {

constexpr int kRate = 32000, kHop = 160;
constexpr int kSize = 2048;  // FFT size: a frame of 10 ms, and 54 ms for its response
constexpr int kBins = kSize / 2 + 1;

}  // namespace

struct Vocoder::Transform {
  explicit Transform(bool inverse) {
    constexpr float kScale = 1;
    av_tx_init(&context, &run, AV_TX_FLOAT_FFT, inverse, kSize, &kScale, 0);
  }
  ~Transform() {
    av_tx_uninit(&context);
    av_free(in);
    av_free(out);
  }
  void operator()() { run(context, out, in, sizeof(std::complex<float>)); }

  static std::complex<float>* numbers() {  // with the alignment that FFmpeg needs
    return static_cast<std::complex<float>*>(av_calloc(kSize, sizeof(std::complex<float>)));
  }
  AVTXContext* context = nullptr;
  av_tx_fn run = nullptr;
  std::complex<float>* in = numbers();
  std::complex<float>* out = numbers();
};

/// The excitation. It has one hop of silence before and after the sentence, for windows at its
/// ends.
struct Vocoder::Excitation {
  std::vector<float> pulses, noise;

  explicit Excitation(const std::vector<Frame>& frames)
      : pulses((frames.size() + 2) * kHop), noise(pulses.size()) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    for (float& n : noise) n = normal(random);
    double phase = 0;
    for (size_t i = 0; i < frames.size() * kHop; ++i) {
      const double pitch = pitch_at(frames, i);
      if (pitch <= 0) continue;
      phase += pitch / kRate;
      if (phase < 1) continue;
      phase -= std::floor(phase);
      pulses[i + kHop] = static_cast<float>(std::sqrt(kRate / pitch));  // as loud as the noise
    }
  }

  /// Returns the pitch of sample i, linear between the middles of two voiced frames.
  static double pitch_at(const std::vector<Frame>& frames, size_t i) {
    const double here = frames[i / kHop].pitch;
    const double off = (static_cast<double>(i % kHop) + 0.5) / kHop - 0.5;
    const size_t other = off < 0 ? i / kHop - 1 : i / kHop + 1;
    if (here <= 0 || other >= frames.size() || frames[other].pitch <= 0) return here;
    return here + std::abs(off) * (frames[other].pitch - here);
  }
};

Vocoder::Vocoder(double alpha, int order, double (*breath)(double khz))
    : warped_cos_((order + 1) * kBins),
      warped_sin_((order + 1) * kBins),
      forward_(std::make_unique<Transform>(false)),
      inverse_(std::make_unique<Transform>(true)) {
  for (int k = 0; k < kBins; ++k) {
    const double turn = 2 * M_PI * k / kSize;
    const double warped =
        turn + 2 * std::atan(alpha * std::sin(turn) / (1 - alpha * std::cos(turn)));
    for (int m = 0; m <= order; ++m) {
      warped_cos_[m * kBins + k] = static_cast<float>(std::cos(m * warped));
      warped_sin_[m * kBins + k] = static_cast<float>(std::sin(m * warped));
    }
    const double share = breath(k * kRate / 1000.0 / kSize);
    hiss_.push_back(static_cast<float>(share));
    tone_.push_back(static_cast<float>(std::sqrt(1 - share * share)));
  }
  for (int i = 0; i < 2 * kHop; ++i) {
    window_.push_back(static_cast<float>(0.5 - 0.5 * std::cos(M_PI * (i + 0.5) / kHop)));
  }
}

Vocoder::~Vocoder() = default;

std::vector<float> Vocoder::speak(const std::vector<Frame>& frames) {
  const int order = static_cast<int>(warped_cos_.size()) / kBins - 1;
  const Excitation excitation(frames);
  std::vector<float> out(frames.size() * kHop + kSize), loud(kBins), phase(kBins);
  for (size_t t = 0; t < frames.size(); ++t) {
    // Window t is twice as long as its frame and has the same middle.
    const size_t first =
        t * kHop + kHop / 2;  // index in the excitation, which begins one hop earlier
    for (int i = 0; i < 2 * kHop; ++i) {
      forward_->in[i] = {window_[i] * excitation.pulses[first + i],
                         window_[i] * excitation.noise[first + i]};
    }
    (*forward_)();
    std::fill(loud.begin(), loud.end(), 0.f);
    std::fill(phase.begin(), phase.end(), 0.f);
    for (int m = 0; m <= order; ++m) {
      const auto c = static_cast<float>(frames[t].cepstrum[m]);
      const float *cosine = &warped_cos_[m * kBins], *sine = &warped_sin_[m * kBins];
      for (int k = 0; k < kBins; ++k) loud[k] += c * cosine[k], phase[k] -= c * sine[k];
    }
    for (int k = 0; k < kBins; ++k) {
      const auto a = forward_->out[k], b = std::conj(forward_->out[(kSize - k) % kSize]);
      const auto pulses = (a + b) * 0.5f;
      const auto noise = (a - b) * std::complex<float>(0, -0.5f);
      const auto excited = frames[t].pitch > 0 ? tone_[k] * pulses + hiss_[k] * noise : noise;
      const auto made = excited * std::polar(std::exp(loud[k]) / kSize, phase[k]);
      inverse_->in[k] = made;
      inverse_->in[(kSize - k) % kSize] = std::conj(made);
    }
    (*inverse_)();
    for (int i = 0; i < kSize; ++i) out[t * kHop + i] += inverse_->out[i].real();
  }
  // The first window begins half a hop before the sentence.
  return {out.begin() + kHop / 2, out.begin() + kHop / 2 + static_cast<long>(frames.size()) * kHop};
}
