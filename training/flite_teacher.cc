// The teachers that are flite's own voices. These voices have no rising end for yes-no questions.
// So their pitch is changed, and the audio is made again.
#include <algorithm>
#include <cmath>

#include "audio/resampler.h"
#include "families/finch/questions.h"
#include "teacher.h"

extern "C" {
cst_voice* register_cmu_us_slt(const char* directory);
cst_voice* register_cmu_us_rms(const char* directory);
cst_voice* register_cmu_us_awb(const char* directory);
cst_voice* register_cmu_us_kal16(const char* directory);
}

namespace {

using syrinx::finch::PhoneSymbol;

constexpr int kTeacherRate = 16000;

std::vector<double> segment_ends(cst_utterance* utterance) {
  std::vector<double> ends;
  for (cst_item* seg = relation_head(utt_relation(utterance, "Segment")); seg;
       seg = item_next(seg)) {
    ends.push_back(item_feat_float(seg, "end"));
  }
  return ends;
}

cst_wave* rising_wave(cst_utterance* utterance, const std::vector<PhoneSymbol>& stream,
                      const std::vector<double>& ends) {
  cst_cg_db* db = val_cg_db(utt_feat_val(utterance, "cg_db"));
  cst_track* params = val_track(utt_feat_val(utterance, "param_track"));
  cst_track* strengths =
      db->mixed_excitation ? val_track(utt_feat_val(utterance, "str_track")) : nullptr;
  const double start = rise_start(stream, ends);
  for (int i = 0; i < params->num_frames; ++i) {
    params->frames[i][0] *=
        static_cast<float>(rise_factor(i * db->frame_advance, start, voice_end(ends)));
  }
  cst_track* smooth = db->do_mlpg ? mlpg(params, db) : params;
  cst_wave* wave = mlsa_resynthesis(smooth, strengths, db, nullptr, 1);
  if (smooth != params) delete_track(smooth);
  return wave;
}

cst_uttfunc speak_diphones = nullptr;  // the original last step of the diphone teacher

/// A diphone teacher has no pitch track, so its pitch targets are changed before it speaks.
cst_utterance* rising_diphones(cst_utterance* utterance) {
  const auto stream = syrinx::finch::phone_stream(utterance, true);
  const auto ends = segment_ends(utterance);
  const double start = rise_start(stream, ends);
  cst_relation* targets = utt_relation(utterance, "Target");
  for (cst_item* item = relation_head(targets); item; item = item_next(item)) {
    const double factor = rise_factor(item_feat_float(item, "pos"), start, voice_end(ends));
    item_set_float(item, "f0", static_cast<float>(item_feat_float(item, "f0") * factor));
  }
  return speak_diphones(utterance);
}

/// Returns how similar the wave is one period before and after `at`. Near 1, it is voiced.
double periodicity(const cst_wave* wave, long at, double period) {
  double best = 0;
  for (const double part : {0.94, 0.97, 1.0, 1.03, 1.06}) {
    const long lag = std::lround(period * part);
    if (at - lag < 0 || at + lag >= wave->num_samples) continue;
    double cross = 0, before = 1, after = 1;
    for (long i = at - lag; i < at; ++i) {
      const double a = wave->samples[i], b = wave->samples[i + lag];
      cross += a * b, before += a * a, after += b * b;
    }
    best = std::max(best, cross / std::sqrt(before * after));
  }
  return best;
}

/// The pitch in Hz of a diphone teacher at `sample`, from its pitch marks; 0 where it is unvoiced.
class DiphonePitch {
 public:
  DiphonePitch(cst_utterance* utterance, const cst_wave* wave, double loudest)
      : marks_(val_lpcres(utt_feat_val(utterance, "target_lpcres"))),
        wave_(wave),
        floor_(loudest * 0.03) {}

  int operator()(long sample) {
    while (next_ + 1 < marks_->num_frames && marks_->times[next_] < sample) ++next_;
    if (next_ == 0 || sample >= wave_->num_samples) return 0;
    const double period = marks_->times[next_] - marks_->times[next_ - 1];
    if (period < kTeacherRate / 400.0 || period > kTeacherRate / 50.0) return 0;
    double power = 0;
    const long first = std::max(0L, sample - 80);
    const long last = std::min<long>(wave_->num_samples, sample + 80);
    for (long i = first; i < last; ++i) power += double{1} * wave_->samples[i] * wave_->samples[i];
    if (std::sqrt(power / std::max(1L, last - first)) < floor_) return 0;
    return periodicity(wave_, sample, period) > 0.55
               ? static_cast<int>(std::lround(kTeacherRate / period))
               : 0;
  }

 private:
  const cst_lpcres* marks_;
  const cst_wave* wave_;
  double floor_;
  int next_ = 0;
};

double loudest_block(const cst_wave* wave) {
  constexpr int kBlock = kTeacherRate / 200;
  double loudest = 0;
  for (int at = 0; at + kBlock <= wave->num_samples; at += kBlock) {
    double sum = 0;
    for (int i = at; i < at + kBlock; ++i) sum += double{1} * wave->samples[i] * wave->samples[i];
    loudest = std::max(loudest, std::sqrt(sum / kBlock));
  }
  return loudest;
}

std::vector<int> pitch_track(cst_utterance* utterance, const cst_wave* wave) {
  std::vector<int> pitch;
  const int count = wave->num_samples / (kTeacherRate / kPitchRate);
  if (!feat_present(utterance->features, "param_track")) {
    DiphonePitch of_diphones(utterance, wave, loudest_block(wave));
    for (int i = 0; i < count; ++i) pitch.push_back(of_diphones(i * (kTeacherRate / kPitchRate)));
    return pitch;
  }
  const cst_track* params = val_track(utt_feat_val(utterance, "param_track"));
  const double advance = val_cg_db(utt_feat_val(utterance, "cg_db"))->frame_advance;
  for (int i = 0; i < count; ++i) {
    const int frame = static_cast<int>(i / (kPitchRate * advance));
    pitch.push_back(
        frame < params->num_frames ? static_cast<int>(std::lround(params->frames[frame][0])) : 0);
  }
  return pitch;
}

class FliteTeacher : public Teacher {
 public:
  FliteTeacher(cst_voice* voice, int rate)
      : voice_(voice),
        rate_(rate),
        own_stretch_(get_param_float(voice->features, "duration_stretch", 1)),
        diphones_(!feat_present(voice->features, "cg_db")) {
    if (diphones_) speak_diphones = val_uttfunc(feat_val(voice->features, "wave_synth_func"));
  }

  Spoken speak(const Line& line) override {
    const bool rising = syrinx::finch::tune_of(line.text).rises;
    feat_set_float(voice_->features, "duration_stretch",
                   static_cast<float>(own_stretch_ / line.speed));
    if (diphones_) {
      feat_set(voice_->features, "wave_synth_func",
               uttfunc_val(rising ? rising_diphones : speak_diphones));
    }
    cst_utterance* utterance = flite_synth_text(line.text.c_str(), voice_);
    if (!utterance) return {};
    Spoken spoken;
    spoken.stream = syrinx::finch::phone_stream(utterance, rising);
    spoken.ends = segment_ends(utterance);
    const bool bend = rising && !diphones_ && !spoken.ends.empty();
    cst_wave* wave =
        bend ? rising_wave(utterance, spoken.stream, spoken.ends) : utt_wave(utterance);
    std::vector<float> samples(static_cast<size_t>(wave->num_samples));
    for (size_t i = 0; i < samples.size(); ++i) samples[i] = wave->samples[i] / 32768.f;
    spoken.samples = syrinx::resampled(samples, kTeacherRate, rate_);
    spoken.pitch = pitch_track(utterance, wave);
    if (bend) delete_wave(wave);
    delete_utterance(utterance);
    return spoken;
  }

 private:
  cst_voice* voice_;
  int rate_;
  double own_stretch_;
  bool diphones_;
};

}  // namespace

std::unique_ptr<Teacher> open_flite_teacher(const std::string& name, int rate) {
  cst_voice* voice = name == "slt"     ? register_cmu_us_slt(nullptr)
                     : name == "rms"   ? register_cmu_us_rms(nullptr)
                     : name == "awb"   ? register_cmu_us_awb(nullptr)
                     : name == "kal16" ? register_cmu_us_kal16(nullptr)
                                       : nullptr;
  return voice ? std::make_unique<FliteTeacher>(voice, rate) : nullptr;
}
