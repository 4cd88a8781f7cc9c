// The teacher of festvox-us-slt-hts: libflite's front end, libHTSEngine's models. The library's
// vocoder excites voiced speech only with pulses, which sounds buzzy. vocoder.h excites the same
// spectra with pulses and noise; the share of noise in voiced speech grows with the frequency.
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
#include "vocoder.h"

extern "C" cst_voice* register_cmu_us_slt(const char* directory);

namespace {

constexpr const char* kVoice =
    "/usr/share/festival/voices/us/cmu_us_slt_arctic_hts/hts/cmu_us_slt_arctic_hts.htsvoice";
constexpr int kTeacherRate = 32000;
constexpr int kOrder = 44;                   // order of the cepstra
constexpr size_t kSpectrum = 0, kPitch = 1;  // indices of the streams: cepstra, ln F0
/// The share of noise in the amplitude of voiced speech at some frequencies in kHz, with linear
/// interpolation. 0.6 to 0.75 above 2.5 kHz matches the speech of flite's slt.
constexpr std::array<std::array<double, 2>, 5> kBreath = {
    {{0, 0}, {1.0, 0.05}, {2.5, 0.6}, {5, 0.75}, {12, 0.9}}};

double breath(double khz) {
  for (size_t i = 1; i < kBreath.size(); ++i) {
    const auto [x0, y0] = kBreath[i - 1];
    const auto [x1, y1] = kBreath[i];
    if (khz < x1) return y0 + (y1 - y0) * (khz - x0) / (x1 - x0);
  }
  return kBreath.back()[1];
}

cst_utterance* no_wave(cst_utterance* utterance) { return utterance; }

class HtsTeacher : public Teacher {
 public:
  HtsTeacher(double alpha, double half_tones, int rate)
      : front_(register_cmu_us_slt(nullptr)), rate_(rate), vocoder_(alpha, kOrder, breath) {
    feat_set(front_->features, "wave_synth_func", uttfunc_val(no_wave));
    HTS_Engine_initialize(&engine_);
    char* voice = const_cast<char*>(kVoice);
    if (!HTS_Engine_load(&engine_, &voice, 1)) {
      std::fprintf(stderr, "synth: cannot read %s (festvox-us-slt-hts)\n", kVoice);
      std::exit(1);
    }
    HTS_Engine_add_half_tone(&engine_, half_tones);
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
    run_states(lines);
    if (!HTS_Engine_generate_parameter_sequence(&engine_)) nothing();
    std::vector<float> samples = vocoder_.speak(read_frames(spoken, rising));
    HTS_Engine_refresh(&engine_);
    for (float& s : samples) s /= 32768;
    spoken.samples = syrinx::resampled(samples, kTeacherRate, rate_);
    return spoken;
  }

 private:
  static std::vector<char*> pointers(std::vector<std::string>& labels) {
    std::vector<char*> lines;
    for (std::string& label : labels) lines.push_back(label.data());
    return lines;
  }
  void run_states(std::vector<char*>& lines) {
    if (!HTS_Engine_generate_state_sequence_from_strings(&engine_, lines.data(), lines.size())) {
      nothing();
    }
  }
  [[noreturn]] static void nothing() {
    std::fprintf(stderr, "synth: libHTSEngine could not speak a sentence\n");
    std::exit(1);
  }

  /// Writes the beginning and end of each phone to the labels: its normal duration divided by
  /// `speed`. The speed setting of the library would mostly shorten pauses, because their durations
  /// vary most: at 1.4, it makes the speech between pauses 1.34 times as fast.
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
      const long least =
          start + static_cast<long>(states);  // the library needs one frame for each state
      const long end = std::max(least, std::lround(static_cast<double>(frames) / speed));
      labels[i] =
          std::to_string(start * kFrame) + " " + std::to_string(end * kFrame) + " " + labels[i];
      start = end;
    }
    HTS_Engine_refresh(&engine_);
  }

  /// Returns the library's frames of the sentence. Writes the times and the pitch to `spoken`.
  std::vector<Vocoder::Frame> read_frames(Spoken& spoken, bool rising) {
    const size_t states = HTS_Engine_get_nstate(&engine_);
    size_t frames = 0;
    for (size_t s = 0; s < HTS_Engine_get_total_state(&engine_); ++s) {
      frames += HTS_Engine_get_state_duration(&engine_, s);
      if (s % states == states - 1) spoken.ends.push_back(static_cast<double>(frames) / kPitchRate);
    }
    HTS_PStream& f0 = engine_.pss.pstream[kPitch];  // ln Hz of the voiced frames, one after another
    const double start = rising ? rise_start(spoken.stream, spoken.ends) : 0;
    size_t voiced = 0;
    std::vector<Vocoder::Frame> made;
    for (size_t t = 0; t < frames; ++t) {
      made.push_back({engine_.pss.pstream[kSpectrum].par[t], 0});
      spoken.pitch.push_back(0);
      if (!f0.msd_flag[t]) continue;
      double& value = f0.par[voiced++][0];
      if (rising) {
        const double at = static_cast<double>(t) / kPitchRate;
        value += std::log(rise_factor(at, start, voice_end(spoken.ends)));
      }
      made.back().pitch = std::exp(value);
      spoken.pitch.back() = static_cast<int>(std::lround(made.back().pitch));
    }
    return made;
  }

  cst_voice* front_;
  int rate_;
  HTS_Engine engine_{};
  Vocoder vocoder_;
};

}  // namespace

std::unique_ptr<Teacher> open_hts_teacher(const std::string& name, int rate) {
  int alpha = 45, half_tones = 0;
  if (name != "hts" && std::sscanf(name.c_str(), "hts:%d:%d", &alpha, &half_tones) != 2) {
    return nullptr;
  }
  return std::make_unique<HtsTeacher>(alpha / 100.0, half_tones, rate);
}
