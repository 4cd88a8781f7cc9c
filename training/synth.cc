// Speaks the sentences of standard input with one of the teachers, flite's voices, and writes what
// training needs: all audio as one file of 16-bit samples (16 kHz, mono) and one JSON line per
// sentence with its place in that file, its symbols, the time at which each symbol ends, the pitch
// and the speed.
//
//   synth TEACHER OUT.pcm OUT.jsonl < sentences.txt      TEACHER: slt, rms, awb or kal16
//
// A line may begin with a speed and a tab: 1.2 is a fifth faster than the teacher speaks by itself.
// Silence is cut to kLead before the first sound and kTail after the last; every sentence is made
// equally loud. Yes-no questions get a rising end, which the teachers themselves do not speak: their
// pitch is bent and the audio made again from it.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "families/finch/phone_stream.h"

extern "C" {
cst_voice* register_cmu_us_slt(const char* directory);
cst_voice* register_cmu_us_rms(const char* directory);
cst_voice* register_cmu_us_awb(const char* directory);
cst_voice* register_cmu_us_kal16(const char* directory);
}

namespace {

using syrinx::finch::PhoneSymbol;

constexpr double kLead = 0.02;         // s of silence kept before the first sound
constexpr double kTail = 0.16;         // s kept after the last: the pause between two sentences
constexpr double kSilence = 0.01;      // of the loudest 5 ms: what is softer is no sound yet
constexpr double kLoudness = -20.0;    // LUFS of every sentence
constexpr double kPeak = 0.9;          // of full scale, at most
constexpr double kRise = 1.55;         // pitch factor at the very end of a rising question
constexpr int kRate = 16000;           // samples per second
constexpr int kBlock = kRate / 200;    // samples of 5 ms

std::vector<double> segment_ends(cst_utterance* utterance) {
  std::vector<double> ends;
  for (cst_item* seg = relation_head(utt_relation(utterance, "Segment")); seg;
       seg = item_next(seg)) {
    ends.push_back(item_feat_float(seg, "end"));
  }
  return ends;
}

/// Time at which the rise begins: the start of the last stressed vowel, at most 0.45 s before
/// the last phone ends.
double rise_start(const std::vector<PhoneSymbol>& stream, const std::vector<double>& ends) {
  const auto& names = syrinx::finch::phone_names();
  const double voice_end = ends.size() > 1 ? ends[ends.size() - 2] : ends.back();
  for (size_t i = stream.size(); i-- > 1;) {
    const double start = ends[i - 1];
    if (voice_end - start > 0.45) break;
    if (names[stream[i].phone].back() == '1') return start;
  }
  return std::max(0.0, voice_end - 0.25);
}

cst_wave* rising_wave(cst_utterance* utterance, const std::vector<PhoneSymbol>& stream,
                      const std::vector<double>& ends) {
  cst_cg_db* db = val_cg_db(utt_feat_val(utterance, "cg_db"));
  cst_track* params = val_track(utt_feat_val(utterance, "param_track"));
  cst_track* strengths =
      db->mixed_excitation ? val_track(utt_feat_val(utterance, "str_track")) : nullptr;
  const double start = rise_start(stream, ends);
  const double end = ends.size() > 1 ? ends[ends.size() - 2] : ends.back();
  for (int i = 0; i < params->num_frames; ++i) {
    const double t = i * db->frame_advance;
    if (t < start || params->frames[i][0] <= 0) continue;
    const double x = std::clamp((t - start) / std::max(0.08, end - start), 0.0, 1.0);
    params->frames[i][0] *= static_cast<float>(0.96 + (kRise - 0.96) * x * x);
  }
  cst_track* smooth = db->do_mlpg ? mlpg(params, db) : params;
  cst_wave* wave = mlsa_resynthesis(smooth, strengths, db, nullptr, 1);
  if (smooth != params) delete_track(smooth);
  return wave;
}

cst_uttfunc speak_diphones = nullptr;  // the diphone teacher's own last step

/// A diphone teacher has no pitch track to bend: its pitch targets are bent before it speaks.
cst_utterance* rising_diphones(cst_utterance* utterance) {
  const auto stream = syrinx::finch::phone_stream(utterance, true);
  const auto ends = segment_ends(utterance);
  const double start = rise_start(stream, ends);
  const double end = ends.size() > 1 ? ends[ends.size() - 2] : ends.back();
  cst_relation* targets = utt_relation(utterance, "Target");
  for (cst_item* item = relation_head(targets); item; item = item_next(item)) {
    const double t = item_feat_float(item, "pos");
    if (t < start) continue;
    const double x = std::clamp((t - start) / std::max(0.08, end - start), 0.0, 1.0);
    item_set_float(item, "f0",
                   static_cast<float>(item_feat_float(item, "f0") * (0.96 + (kRise - 0.96) * x * x)));
  }
  return speak_diphones(utterance);
}

/// How alike the wave is one period before and after `at`: near 1 where it is voiced.
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

/// Pitch of a diphone teacher in Hz at `sample`, from its pitch marks; 0 where it is unvoiced.
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
    if (period < kRate / 400.0 || period > kRate / 50.0) return 0;
    double power = 0;
    const long first = std::max(0L, sample - 80);
    const long last = std::min<long>(wave_->num_samples, sample + 80);
    for (long i = first; i < last; ++i) power += double{1} * wave_->samples[i] * wave_->samples[i];
    if (std::sqrt(power / std::max(1L, last - first)) < floor_) return 0;
    return periodicity(wave_, sample, period) > 0.55 ? static_cast<int>(std::lround(kRate / period))
                                                     : 0;
  }

 private:
  const cst_lpcres* marks_;
  const cst_wave* wave_;
  double floor_;
  int next_ = 0;
};

/// Root mean square of each 5 ms.
std::vector<double> block_levels(const cst_wave* wave) {
  std::vector<double> levels;
  for (int at = 0; at + kBlock <= wave->num_samples; at += kBlock) {
    double sum = 0;
    for (int i = at; i < at + kBlock; ++i) sum += double{1} * wave->samples[i] * wave->samples[i];
    levels.push_back(std::sqrt(sum / kBlock));
  }
  return levels;
}

struct Extent {
  long first = 0, count = 0;  // samples
  double loudest = 0;
};

/// What is kept of the wave: from kLead before the first sound to kTail after the last. `speech` is
/// when the first phone begins, in s; what clicks long before it is no sound of the sentence.
Extent sounding(const cst_wave* wave, double speech, double speed) {
  const auto levels = block_levels(wave);
  Extent span;
  for (const double level : levels) span.loudest = std::max(span.loudest, level);
  const double floor = span.loudest * kSilence;
  const auto loud = [floor](double level) { return level > floor; };
  const auto first = std::find_if(levels.begin(), levels.end(), loud) - levels.begin();
  const auto last = levels.rend() - std::find_if(levels.rbegin(), levels.rend(), loud);
  span.first = std::max({0L, static_cast<long>(first * kBlock - kLead * kRate),
                         static_cast<long>((speech - 0.03) * kRate)});
  span.count = static_cast<long>(last * kBlock + kTail / speed * kRate) - span.first;
  return span;
}

/// One second-order filter, direct form 2 transposed.
struct Biquad {
  double b0, b1, b2, a1, a2, z1 = 0, z2 = 0;
  double operator()(double x) {
    const double y = b0 * x + z1;
    z1 = b1 * x - a1 * y + z2;
    z2 = b2 * x - a2 * y;
    return y;
  }
};

/// Loudness in LUFS of full scale 32768, as ITU-R BS.1770: K weighting, 400 ms blocks in steps of
/// 100 ms, gated at -70 LUFS and at 10 LU below the mean of the blocks above that.
double loudness(const std::vector<short>& samples) {
  const double k1 = std::tan(M_PI * 1681.974450955533 / kRate), q1 = 0.7071752369554196;
  const double vh = std::pow(10.0, 3.999843853973347 / 20), vb = std::pow(vh, 0.4996667741545416);
  const double n1 = 1 + k1 / q1 + k1 * k1;
  Biquad shelf{(vh + vb * k1 / q1 + k1 * k1) / n1, 2 * (k1 * k1 - vh) / n1,
               (vh - vb * k1 / q1 + k1 * k1) / n1, 2 * (k1 * k1 - 1) / n1,
               (1 - k1 / q1 + k1 * k1) / n1};
  const double k2 = std::tan(M_PI * 38.13547087602444 / kRate), q2 = 0.5003270373238773;
  const double n2 = 1 + k2 / q2 + k2 * k2;
  Biquad high{1, -2, 1, 2 * (k2 * k2 - 1) / n2, (1 - k2 / q2 + k2 * k2) / n2};
  std::vector<double> power{0};
  for (const short s : samples) {
    const double y = high(shelf(s / 32768.0));
    power.push_back(power.back() + y * y);
  }
  const size_t block = std::min<size_t>(kRate * 2 / 5, samples.size()), hop = kRate / 10;
  std::vector<double> blocks;
  for (size_t at = 0; at + block < power.size(); at += hop) {
    blocks.push_back((power[at + block] - power[at]) / static_cast<double>(block));
  }
  const auto mean_above = [&blocks](double floor) {
    double sum = 0;
    int n = 0;
    for (const double b : blocks) {
      if (b > floor) sum += b, ++n;
    }
    return n ? sum / n : 0.0;
  };
  const double mean = mean_above(std::pow(10, (-70 + 0.691) / 10));
  return -0.691 + 10 * std::log10(mean_above(mean * 0.1) + 1e-12);
}

/// Gain that makes the samples kLoudness loud, without a peak above kPeak.
double levelling_gain(const std::vector<short>& samples) {
  int peak = 1;
  for (const short s : samples) peak = std::max(peak, std::abs(static_cast<int>(s)));
  return std::min(std::pow(10, (kLoudness - loudness(samples)) / 20), kPeak * 32768 / peak);
}

void write_list(FILE* out, const char* name, const std::vector<int>& values) {
  std::fprintf(out, ", \"%s\": [", name);
  for (size_t i = 0; i < values.size(); ++i) std::fprintf(out, i ? ",%d" : "%d", values[i]);
  std::fputs("]", out);
}

/// Pitch in Hz every 10 ms of the span, 0 where the teacher is unvoiced.
std::vector<int> pitch_track(cst_utterance* utterance, const cst_wave* wave, const Extent& span) {
  std::vector<int> pitch;
  if (!feat_present(utterance->features, "param_track")) {
    DiphonePitch of_diphones(utterance, wave, span.loudest);
    for (long s = 0; s < span.count; s += kRate / 100) pitch.push_back(of_diphones(span.first + s));
    return pitch;
  }
  const cst_track* params = val_track(utt_feat_val(utterance, "param_track"));
  const double advance = val_cg_db(utt_feat_val(utterance, "cg_db"))->frame_advance;
  for (long s = 0; s < span.count; s += kRate / 100) {
    const int frame = static_cast<int>((span.first + s) / (kRate * advance));
    pitch.push_back(
        frame < params->num_frames ? static_cast<int>(std::lround(params->frames[frame][0])) : 0);
  }
  return pitch;
}

std::string json_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= 32) out += c;
  }
  return out;
}

struct Line {
  std::string text;
  double speed = 1;
};

/// One sentence to the two files; returns the number of samples written.
long write_sentence(const Line& line, cst_utterance* utterance, FILE* pcm, FILE* lines,
                    long offset) {
  const bool rising = syrinx::finch::is_rising_question(line.text);
  const auto stream = syrinx::finch::phone_stream(utterance, rising);
  const auto ends = segment_ends(utterance);
  if (stream.size() < 3 || stream.size() != ends.size()) return 0;
  const bool bend = rising && feat_present(utterance->features, "param_track");
  cst_wave* wave = bend ? rising_wave(utterance, stream, ends) : utt_wave(utterance);
  const Extent span = sounding(wave, ends[0], line.speed);
  std::vector<short> samples(static_cast<size_t>(span.count));
  for (long i = 0; i < span.count && span.first + i < wave->num_samples; ++i) {
    samples[i] = wave->samples[span.first + i];
  }
  const double gain = levelling_gain(samples);
  for (short& s : samples) s = static_cast<short>(std::lround(s * gain));
  std::fwrite(samples.data(), sizeof(short), samples.size(), pcm);
  std::vector<int> phone, phrase, place, word, end;
  for (size_t i = 0; i < stream.size(); ++i) {
    phone.push_back(stream[i].phone);
    phrase.push_back(stream[i].phrase);
    place.push_back(stream[i].place);
    word.push_back(stream[i].word);
    end.push_back(static_cast<int>(std::max(0L, std::lround(ends[i] * kRate) - span.first)));
  }
  std::fprintf(lines, "{\"text\": \"%s\", \"speed\": %.4f, \"gain\": %.3f",
               json_text(line.text).c_str(), line.speed, gain);
  std::fprintf(lines, ", \"offset\": %ld, \"samples\": %ld", offset, span.count);
  write_list(lines, "phone", phone);
  write_list(lines, "phrase", phrase);
  write_list(lines, "place", place);
  write_list(lines, "word", word);
  write_list(lines, "end", end);
  write_list(lines, "pitch", pitch_track(utterance, wave, span));
  std::fputs("}\n", lines);
  if (bend) delete_wave(wave);
  return span.count;
}

cst_voice* open_teacher(const std::string& name) {
  if (name == "slt") return register_cmu_us_slt(nullptr);
  if (name == "rms") return register_cmu_us_rms(nullptr);
  if (name == "awb") return register_cmu_us_awb(nullptr);
  if (name == "kal16") return register_cmu_us_kal16(nullptr);
  return nullptr;
}

Line parse_line(const std::string& line) {
  const size_t tab = line.find('\t');
  if (tab == std::string::npos) return {line, 1};
  return {line.substr(tab + 1), std::stod(line.substr(0, tab))};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: synth TEACHER OUT.pcm OUT.jsonl < sentences.txt\n");
    return 2;
  }
  flite_init();
  cst_voice* voice = open_teacher(argv[1]);
  FILE* pcm = std::fopen(argv[2], "wb");
  FILE* lines = std::fopen(argv[3], "w");
  if (!voice || !pcm || !lines) {
    std::fprintf(stderr, "synth: no teacher %s, or cannot write %s or %s\n", argv[1], argv[2],
                 argv[3]);
    return 1;
  }
  const double own_stretch = get_param_float(voice->features, "duration_stretch", 1);
  const bool diphones = !feat_present(voice->features, "cg_db");
  if (diphones) speak_diphones = val_uttfunc(feat_val(voice->features, "wave_synth_func"));
  long offset = 0;
  for (std::string text; std::getline(std::cin, text);) {
    const Line line = parse_line(text);
    feat_set_float(voice->features, "duration_stretch",
                   static_cast<float>(own_stretch / line.speed));
    if (diphones) {
      const bool rising = syrinx::finch::is_rising_question(line.text);
      feat_set(voice->features, "wave_synth_func",
               uttfunc_val(rising ? rising_diphones : speak_diphones));
    }
    cst_utterance* utterance = flite_synth_text(line.text.c_str(), voice);
    if (!utterance) continue;
    offset += write_sentence(line, utterance, pcm, lines, offset);
    delete_utterance(utterance);
  }
  std::fclose(pcm);
  return std::fclose(lines) == 0 ? 0 : 1;
}
