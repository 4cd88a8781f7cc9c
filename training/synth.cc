// Speaks the sentences of standard input with one of the teachers (teacher.h) and writes the
// training data: all audio as one file of 16-bit samples (mono, of RATE, 24000 a second) and one
// JSON line per sentence with its place in that file, its symbols, the time at which each symbol
// ends, the pitch and the speed.
//
//   synth TEACHER OUT.pcm OUT.jsonl [RATE] < sentences.txt
//
// A line may begin with a speed and a tab: 1.2 is a fifth faster than the teacher's own speed. Only
// kLead of silence is kept before the first sound, and kTail after the last. All sentences are made
// equally loud.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "teacher.h"

namespace {

constexpr double kLead = 0.02;     // seconds of silence kept before the first sound
constexpr double kTail = 0.16;     // seconds kept after the last sound: the pause between sentences
constexpr double kSilence = 0.01;  // share of the loudest 5 ms below which sound counts as silence
constexpr double kLoudness = -20.0;  // loudness of every sentence in LUFS
constexpr double kPeak = 0.9;        // limit of the peak, as a share of full scale

/// Returns the root mean square of each block of 5 ms.
std::vector<double> block_levels(const std::vector<float>& wave, int rate) {
  const long block = rate / 200;
  std::vector<double> levels;
  for (long at = 0; at + block <= std::ssize(wave); at += block) {
    double sum = 0;
    for (long i = at; i < at + block; ++i) sum += double{1} * wave[i] * wave[i];
    levels.push_back(std::sqrt(sum / block));
  }
  return levels;
}

struct Extent {
  long first = 0, count = 0;  // samples
};

/// Returns the part of the wave to keep: from kLead before the first sound to kTail after the last.
/// `speech`: the seconds at which the first phone begins; earlier clicks are ignored.
Extent sounding(const std::vector<float>& wave, double speech, double speed, int rate) {
  const long block = rate / 200;
  const auto levels = block_levels(wave, rate);
  Extent span;
  const double floor =
      levels.empty() ? 0 : *std::max_element(levels.begin(), levels.end()) * kSilence;
  const auto loud = [floor](double level) { return level > floor; };
  const auto first = std::find_if(levels.begin(), levels.end(), loud) - levels.begin();
  const auto last = levels.rend() - std::find_if(levels.rbegin(), levels.rend(), loud);
  span.first = std::max({0L, static_cast<long>(first * block - kLead * rate),
                         static_cast<long>((speech - 0.03) * rate)});
  span.count = static_cast<long>(last * block + kTail / speed * rate) - span.first;
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

/// Returns the loudness in LUFS by ITU-R BS.1770: K weighting, blocks of 400 ms in steps of 100 ms,
/// gated at -70 LUFS and at 10 LU below the mean of the remaining blocks.
double loudness(const std::vector<float>& samples, int rate) {
  const double k1 = std::tan(M_PI * 1681.974450955533 / rate), q1 = 0.7071752369554196;
  const double vh = std::pow(10.0, 3.999843853973347 / 20), vb = std::pow(vh, 0.4996667741545416);
  const double n1 = 1 + k1 / q1 + k1 * k1;
  Biquad shelf{(vh + vb * k1 / q1 + k1 * k1) / n1, 2 * (k1 * k1 - vh) / n1,
               (vh - vb * k1 / q1 + k1 * k1) / n1, 2 * (k1 * k1 - 1) / n1,
               (1 - k1 / q1 + k1 * k1) / n1};
  const double k2 = std::tan(M_PI * 38.13547087602444 / rate), q2 = 0.5003270373238773;
  const double n2 = 1 + k2 / q2 + k2 * k2;
  Biquad high{1, -2, 1, 2 * (k2 * k2 - 1) / n2, (1 - k2 / q2 + k2 * k2) / n2};
  std::vector<double> power{0};
  for (const float s : samples) {
    const double y = high(shelf(s));
    power.push_back(power.back() + y * y);
  }
  const size_t block = std::min<size_t>(rate * 2 / 5, samples.size()), hop = rate / 10;
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

/// Returns the gain that sets the loudness to kLoudness, with peaks of at most kPeak.
double levelling_gain(const std::vector<float>& samples, int rate) {
  double peak = 1e-4;
  for (const float s : samples) peak = std::max(peak, std::abs(double{s}));
  return std::min(std::pow(10, (kLoudness - loudness(samples, rate)) / 20), kPeak / peak);
}

void write_list(FILE* out, const char* name, const std::vector<int>& values) {
  std::fprintf(out, ", \"%s\": [", name);
  for (size_t i = 0; i < values.size(); ++i) std::fprintf(out, i ? ",%d" : "%d", values[i]);
  std::fputs("]", out);
}

std::string json_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= 32) out += c;
  }
  return out;
}

/// Writes one sentence to the two files. Returns the number of samples written.
long write_sentence(const Line& line, const Spoken& spoken, int rate, FILE* pcm, FILE* lines,
                    long offset) {
  const auto& [wave, stream, ends, pitch] = spoken;
  if (stream.size() < 3 || stream.size() != ends.size()) return 0;
  const Extent span = sounding(wave, ends[0], line.speed, rate);
  std::vector<float> samples(static_cast<size_t>(span.count));
  for (long i = 0; i < span.count && span.first + i < std::ssize(wave); ++i) {
    samples[i] = wave[span.first + i];
  }
  const double gain = levelling_gain(samples, rate);
  std::vector<short> rounded;
  for (const float s : samples) {
    rounded.push_back(
        static_cast<short>(std::clamp(std::lround(s * gain * 32768), -32768L, 32767L)));
  }
  std::fwrite(rounded.data(), sizeof(short), rounded.size(), pcm);
  std::vector<int> tones;  // Hz for every 10 ms of the sentence
  for (long s = span.first; s < span.first + span.count; s += rate / 100) {
    const size_t at = s / (rate / kPitchRate);
    tones.push_back(at < pitch.size() ? pitch[at] : 0);
  }
  std::vector<int> phone, phrase, place, word, end;
  for (size_t i = 0; i < stream.size(); ++i) {
    phone.push_back(stream[i].phone);
    phrase.push_back(stream[i].phrase);
    place.push_back(stream[i].place);
    word.push_back(stream[i].word);
    end.push_back(static_cast<int>(std::max(0L, std::lround(ends[i] * rate) - span.first)));
  }
  std::fprintf(lines, "{\"text\": \"%s\", \"speed\": %.4f, \"gain\": %.3f",
               json_text(line.text).c_str(), line.speed, gain);
  std::fprintf(lines, ", \"offset\": %ld, \"samples\": %ld", offset, span.count);
  write_list(lines, "phone", phone);
  write_list(lines, "phrase", phrase);
  write_list(lines, "place", place);
  write_list(lines, "word", word);
  write_list(lines, "end", end);
  write_list(lines, "pitch", tones);
  std::fputs("}\n", lines);
  return span.count;
}

Line parse_line(const std::string& line) {
  const size_t tab = line.find('\t');
  if (tab == std::string::npos) return {line, 1};
  return {line.substr(tab + 1), std::stod(line.substr(0, tab))};
}

}  // namespace

int main(int argc, char** argv) {
  const int rate = argc == 5 ? std::atoi(argv[4]) : 24000;
  if (argc < 4 || argc > 5 || rate < 8000 || rate > 48000) {
    std::fprintf(stderr, "usage: synth TEACHER OUT.pcm OUT.jsonl [RATE] < sentences.txt\n");
    return 2;
  }
  flite_init();
  const std::unique_ptr<Teacher> teacher = open_teacher(argv[1], rate);
  FILE* pcm = std::fopen(argv[2], "wb");
  FILE* lines = std::fopen(argv[3], "w");
  if (!teacher || !pcm || !lines) {
    std::fprintf(stderr, "synth: no teacher %s, or cannot write %s or %s\n", argv[1], argv[2],
                 argv[3]);
    return 1;
  }
  long offset = 0;
  for (std::string text; std::getline(std::cin, text);) {
    const Line line = parse_line(text);
    offset += write_sentence(line, teacher->speak(line), rate, pcm, lines, offset);
  }
  std::fclose(pcm);
  return std::fclose(lines) == 0 ? 0 : 1;
}
