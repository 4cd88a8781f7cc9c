// Speakers of the sentences that the voice learns from.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "families/finch/phone_stream.h"

inline constexpr int kPitchRate = 200;    // values of Spoken::pitch per second

struct Line {
  std::string text;
  double speed = 1;  // 1.2: a fifth faster than the teacher speaks by itself
};

struct Spoken {
  std::vector<float> samples;                          // full scale 1, at the asked rate
  std::vector<syrinx::finch::PhoneSymbol> stream;
  std::vector<double> ends;                            // s, when each symbol ends
  std::vector<int> pitch;                              // Hz, 0 where unvoiced
};

class Teacher {
 public:
  virtual ~Teacher() = default;
  /// Speaks a line; returns empty lists if libflite makes nothing of the text.
  virtual Spoken speak(const Line& line) = 0;
};

/// Opens one of flite's voices, 16 kHz: slt, rms, awb, kal16; or `hts`, the voice festvox-us-slt-hts, 32 kHz.
/// `hts:50:-9` is another speaker made of that one: warped by 0.50 (0.45 is her own; more is a longer
/// throat), nine half tones lower. Null for other names.
std::unique_ptr<Teacher> open_teacher(const std::string& name, int rate);
std::unique_ptr<Teacher> open_flite_teacher(const std::string& name, int rate);
/// Opens `hibari`, the voice of the Python package hibari-tts, or `hibari:88:-7`, another speaker made of it.
std::unique_ptr<Teacher> open_hibari_teacher(const std::string& name, int rate);
std::unique_ptr<Teacher> open_hts_teacher(const std::string& name, int rate);

/// Returns the time at which a rising question rises: the start of the last stressed vowel, at most 0.45 s
/// before the last phone ends.
double rise_start(const std::vector<syrinx::finch::PhoneSymbol>& stream,
                  const std::vector<double>& ends);
/// Returns the factor that changes the pitch at `t`, because the teachers themselves do not rise.
double rise_factor(double t, double start, double end);
/// Returns the end of the voice, because the last segment is a pause.
double voice_end(const std::vector<double>& ends);
