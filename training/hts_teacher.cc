// The teacher of festvox-us-slt-hts: libflite's front end, libHTSEngine's models. Its own vocoder
// excites voiced speech by pulses alone, which buzzes; here the same spectra are excited twice, by
// pulses and by noise, and of the noise goes the more into voiced speech the higher the frequency.
#include <HTS_engine.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "audio/resampler.h"
#include "families/finch/questions.h"
#include "hts_label.h"
#include "teacher.h"

extern "C" cst_voice* register_cmu_us_slt(const char* directory);

namespace {

constexpr const char* kVoice =
    "/usr/share/festival/voices/us/cmu_us_slt_arctic_hts/hts/cmu_us_slt_arctic_hts.htsvoice";
constexpr int kTeacherRate = 32000;
constexpr size_t kPitch = 1;  // the stream of ln F0
/// Noise's share of the amplitude of voiced speech at kHz, straight lines between. 0.6 to 0.75 above
/// 2.5 kHz matched what natural-like speech of flite's slt shows.
constexpr std::array<std::array<double, 2>, 5> kBreath = {
    {{0, 0}, {1.0, 0.05}, {2.5, 0.6}, {5, 0.75}, {12, 0.9}}};
constexpr int kBlend = 512;  // samples of the windows in which the two are mixed

double breath(double khz) {
  for (size_t i = 1; i < kBreath.size(); ++i) {
    const auto [x0, y0] = kBreath[i - 1];
    const auto [x1, y1] = kBreath[i];
    if (khz < x1) return y0 + (y1 - y0) * (khz - x0) / (x1 - x0);
  }
  return kBreath.back()[1];
}

/// A linear-phase filter of kBlend + 1 taps with the given gains at k / kBlend of the rate.
std::vector<float> filter_of(const std::vector<double>& gains) {
  std::vector<float> taps(kBlend + 1);
  for (int n = -kBlend / 2; n <= kBlend / 2; ++n) {
    double sum = gains[0] + gains[kBlend / 2] * std::cos(M_PI * n);
    for (int k = 1; k < kBlend / 2; ++k) sum += 2 * gains[k] * std::cos(2 * M_PI * k * n / kBlend);
    taps[n + kBlend / 2] =
        static_cast<float>(sum / kBlend * (0.5 + 0.5 * std::cos(2 * M_PI * n / kBlend)));
  }
  return taps;
}

/// Adds x through a filter that is its own mirror image.
void add_filtered(const std::vector<float>& x, const std::vector<float>& taps,
                  std::vector<float>& out) {
  std::vector<float> padded(x.size() + kBlend);
  std::copy(x.begin(), x.end(), padded.begin() + kBlend / 2);
  for (size_t i = 0; i < x.size(); ++i) {
    std::array<float, 16> sums{};  // so that the compiler may add sixteen at once
    for (int t = 0; t < kBlend; t += 16) {
      for (int lane = 0; lane < 16; ++lane) sums[lane] += taps[t + lane] * padded[i + t + lane];
    }
    float sum = taps[kBlend] * padded[std::min(i + kBlend, padded.size() - 1)];
    for (const float lane : sums) sum += lane;
    out[i] += sum;
  }
}

cst_utterance* no_wave(cst_utterance* utterance) { return utterance; }

class HtsTeacher : public Teacher {
 public:
  HtsTeacher(double alpha, double half_tones, int rate)
      : front_(register_cmu_us_slt(nullptr)), rate_(rate) {
    feat_set(front_->features, "wave_synth_func", uttfunc_val(no_wave));
    HTS_Engine_initialize(&engine_);
    char* voice = const_cast<char*>(kVoice);
    if (!HTS_Engine_load(&engine_, &voice, 1)) {
      std::fprintf(stderr, "synth: cannot read %s (festvox-us-slt-hts)\n", kVoice);
      std::exit(1);
    }
    HTS_Engine_set_alpha(&engine_, alpha);
    HTS_Engine_add_half_tone(&engine_, half_tones);
    voiced_above_ = HTS_Engine_get_msd_threshold(&engine_, kPitch);
    std::vector<double> hiss(kBlend / 2 + 1), tone(kBlend / 2 + 1);
    for (int k = 0; k <= kBlend / 2; ++k) {
      hiss[k] = breath(k * kTeacherRate / 1000.0 / kBlend);
      tone[k] = std::sqrt(1 - hiss[k] * hiss[k]);
    }
    hiss_ = filter_of(hiss);
    tone_ = filter_of(tone);
  }
  ~HtsTeacher() override { HTS_Engine_clear(&engine_); }

  Spoken speak(const Line& line) override {
    cst_utterance* utterance = flite_synth_text(line.text.c_str(), front_);
    if (!utterance) return {};
    const bool rising = syrinx::finch::tune_of(line.text).rises;
    Spoken spoken;
    spoken.stream = syrinx::finch::phone_stream(utterance, rising);
    std::vector<std::string> labels = hts_labels(utterance, rising);
    delete_utterance(utterance);
    if (labels.empty()) return {};
    if (line.speed != 1) set_times(labels, line.speed);
    HTS_Engine_set_phoneme_alignment_flag(&engine_, line.speed != 1);
    std::vector<char*> lines = pointers(labels);

    std::vector<float> samples = excited(lines, spoken, rising, true);
    const std::vector<float> noise = excited(lines, spoken, rising, false);
    std::vector<float> mixed(samples.size());
    add_filtered(samples, tone_, mixed);
    add_filtered(noise, hiss_, mixed);
    spoken.samples = syrinx::resampled(mixed, kTeacherRate, rate_);
    return spoken;
  }

 private:
  static std::vector<char*> pointers(std::vector<std::string>& labels) {
    std::vector<char*> lines;
    for (std::string& label : labels) lines.push_back(label.data());
    return lines;
  }
  void run_states(std::vector<char*>& lines) {
    if (HTS_Engine_generate_state_sequence_from_strings(&engine_, lines.data(), lines.size())) return;
    std::fprintf(stderr, "synth: libHTSEngine made nothing of a sentence\n");
    std::exit(1);
  }

  /// Writes into the labels when each phone begins and ends: its own duration over `speed`. The
  /// library's own speed would take what it needs from the pauses, whose durations vary most: asked for
  /// 1.4 the speech between them is 1.34 times as fast.
  void set_times(std::vector<std::string>& labels, double speed) {
    HTS_Engine_set_phoneme_alignment_flag(&engine_, false);
    std::vector<char*> lines = pointers(labels);
    run_states(lines);
    constexpr long kFrame = 10'000'000 / kPitchRate;  // in units of 100 ns
    const size_t states = HTS_Engine_get_nstate(&engine_);
    size_t frames = 0;
    long start = 0;
    for (size_t i = 0; i < labels.size(); ++i) {
      for (size_t s = 0; s < states; ++s) {
        frames += HTS_Engine_get_state_duration(&engine_, i * states + s);
      }
      const long least = start + static_cast<long>(states);  // the library gives each state a frame
      const long end = std::max(least, std::lround(static_cast<double>(frames) / speed));
      labels[i] =
          std::to_string(start * kFrame) + " " + std::to_string(end * kFrame) + " " + labels[i];
      start = end;
    }
    HTS_Engine_refresh(&engine_);
  }

  /// The sentence excited by pulses, or by noise alone; with pulses also its times and pitch.
  std::vector<float> excited(std::vector<char*>& lines, Spoken& spoken, bool rising, bool pulses) {
    HTS_Engine_set_msd_threshold(&engine_, kPitch, pulses ? voiced_above_ : 1.0);
    run_states(lines);
    if (!HTS_Engine_generate_parameter_sequence(&engine_)) {
      std::fprintf(stderr, "synth: libHTSEngine made nothing of a sentence\n");
      std::exit(1);
    }
    if (pulses) read_times_and_pitch(spoken, rising);
    std::vector<float> samples;
    if (HTS_Engine_generate_sample_sequence(&engine_)) {
      samples.resize(HTS_Engine_get_nsamples(&engine_));
      for (size_t i = 0; i < samples.size(); ++i) {
        samples[i] = static_cast<float>(HTS_Engine_get_generated_speech(&engine_, i) / 32768);
      }
    }
    HTS_Engine_refresh(&engine_);
    return samples;
  }

  void read_times_and_pitch(Spoken& spoken, bool rising) {
    const size_t states = HTS_Engine_get_nstate(&engine_);
    size_t frames = 0;
    for (size_t s = 0; s < HTS_Engine_get_total_state(&engine_); ++s) {
      frames += HTS_Engine_get_state_duration(&engine_, s);
      if (s % states == states - 1) spoken.ends.push_back(static_cast<double>(frames) / kPitchRate);
    }
    HTS_PStream& f0 = engine_.pss.pstream[kPitch];  // ln Hz of the voiced frames, one after another
    const double start = rising ? rise_start(spoken.stream, spoken.ends) : 0;
    size_t voiced = 0;
    for (size_t t = 0; t < frames; ++t) {
      spoken.pitch.push_back(0);
      if (!f0.msd_flag[t]) continue;
      double& value = f0.par[voiced++][0];
      if (rising) {
        const double at = static_cast<double>(t) / kPitchRate;
        value += std::log(rise_factor(at, start, voice_end(spoken.ends)));
      }
      spoken.pitch.back() = static_cast<int>(std::lround(std::exp(value)));
    }
  }

  cst_voice* front_;
  int rate_;
  HTS_Engine engine_{};
  double voiced_above_;
  std::vector<float> hiss_, tone_;
};

}  // namespace

std::unique_ptr<Teacher> open_hts_teacher(const std::string& name, int rate) {
  int alpha = 45, half_tones = 0;
  if (name != "hts" && std::sscanf(name.c_str(), "hts:%d:%d", &alpha, &half_tones) != 2) {
    return nullptr;
  }
  return std::make_unique<HtsTeacher>(alpha / 100.0, half_tones, rate);
}
