// Speaks the sentences of standard input with the teacher, flite's `slt` voice, and writes what
// training needs: all audio as one file of 16-bit samples (16 kHz, mono) and one JSON line per
// sentence with its place in that file, its symbols, the time at which each symbol ends, and the
// pitch.
//
//   synth OUT.pcm OUT.jsonl < sentences.txt
//
// Leading silence is cut to kLeadSilence. Yes-no questions get a rising end, which the teacher
// itself does not speak: their pitch track is bent and the audio made again from it.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "families/finch/phone_stream.h"

extern "C" cst_voice* register_cmu_us_slt(const char* directory);

namespace {

using syrinx::finch::PhoneSymbol;

constexpr double kLeadSilence = 0.04;  // s
constexpr double kRise = 1.55;         // pitch factor at the very end of a rising question
constexpr int kRate = 16000;           // samples per second

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

void write_list(FILE* out, const char* name, const std::vector<int>& values) {
  std::fprintf(out, ", \"%s\": [", name);
  for (size_t i = 0; i < values.size(); ++i) std::fprintf(out, i ? ",%d" : "%d", values[i]);
  std::fputs("]", out);
}

/// Pitch in Hz every 10 ms from `skip` samples on, 0 where the teacher is unvoiced.
std::vector<int> pitch_track(cst_utterance* utterance, long skip, long count) {
  const cst_track* params = val_track(utt_feat_val(utterance, "param_track"));
  const double advance = val_cg_db(utt_feat_val(utterance, "cg_db"))->frame_advance;
  std::vector<int> pitch;
  for (long sample = skip; sample < skip + count; sample += kRate / 100) {
    const int frame = static_cast<int>(sample / (kRate * advance));
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

/// One sentence to the two files; returns the number of samples written.
long write_sentence(const std::string& text, cst_utterance* utterance, FILE* pcm, FILE* lines,
                    long offset) {
  const bool rising = syrinx::finch::is_rising_question(text);
  const auto stream = syrinx::finch::phone_stream(utterance, rising);
  const auto ends = segment_ends(utterance);
  if (stream.size() < 3 || stream.size() != ends.size()) return 0;
  cst_wave* wave = rising ? rising_wave(utterance, stream, ends) : utt_wave(utterance);
  const long skip = std::clamp(std::lround((ends[0] - kLeadSilence) * kRate), 0L,
                               static_cast<long>(wave->num_samples));
  const long count = wave->num_samples - skip;
  std::fwrite(wave->samples + skip, sizeof(short), count, pcm);
  std::vector<int> phone, phrase, place, word, end;
  for (size_t i = 0; i < stream.size(); ++i) {
    phone.push_back(stream[i].phone);
    phrase.push_back(stream[i].phrase);
    place.push_back(stream[i].place);
    word.push_back(stream[i].word);
    end.push_back(static_cast<int>(std::lround(ends[i] * kRate) - skip));
  }
  std::fprintf(lines, "{\"text\": \"%s\", \"offset\": %ld, \"samples\": %ld",
               json_text(text).c_str(), offset, count);
  write_list(lines, "phone", phone);
  write_list(lines, "phrase", phrase);
  write_list(lines, "place", place);
  write_list(lines, "word", word);
  write_list(lines, "end", end);
  write_list(lines, "pitch", pitch_track(utterance, skip, count));
  std::fputs("}\n", lines);
  if (rising) delete_wave(wave);
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: synth OUT.pcm OUT.jsonl < sentences.txt\n");
    return 2;
  }
  flite_init();
  cst_voice* voice = register_cmu_us_slt(nullptr);
  FILE* pcm = std::fopen(argv[1], "wb");
  FILE* lines = std::fopen(argv[2], "w");
  if (!pcm || !lines) {
    std::fprintf(stderr, "synth: cannot write %s or %s\n", argv[1], argv[2]);
    return 1;
  }
  long offset = 0;
  for (std::string text; std::getline(std::cin, text);) {
    cst_utterance* utterance = flite_synth_text(text.c_str(), voice);
    if (!utterance) continue;
    offset += write_sentence(text, utterance, pcm, lines, offset);
    delete_utterance(utterance);
  }
  std::fclose(pcm);
  return std::fclose(lines) == 0 ? 0 : 1;
}
