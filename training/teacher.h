// Teachers: speakers of the sentences from which the voice learns.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "families/finch/phone_stream.h"

inline constexpr int kPitchRate = 200;  // values per second in Spoken::pitch

struct Line {
  std::string text;
  double speed = 1;  // 1.2 is a fifth faster than the teacher's own speed
};

struct Spoken {
  std::vector<float> samples;  // full scale is 1, at the requested rate
  std::vector<syrinx::finch::PhoneSymbol> stream;
  std::vector<double> ends;  // seconds at which each symbol ends
  std::vector<int> pitch;    // Hz, 0 where unvoiced
};

class Teacher {
 public:
  virtual ~Teacher() = default;
  /// Speaks a line. Returns empty lists if libflite finds nothing to speak in the text.
  virtual Spoken speak(const Line& line) = 0;
};

/// Opens one of flite's voices at 16 kHz: slt, rms, awb, kal16; or `hts`, the voice
/// festvox-us-slt-hts, at 32 kHz. `hts:50:-9` makes another speaker of this voice: warped by 0.50
/// (0.45 is the original; more means a longer throat), nine half tones lower. Returns null for
/// other names.
std::unique_ptr<Teacher> open_teacher(const std::string& name, int rate);
std::unique_ptr<Teacher> open_flite_teacher(const std::string& name, int rate);
/// Opens `hibari`, the voice of the Python package hibari-tts, `hibari:88:-7`, another speaker made
/// of it, or `kokoro:VOICE`, a voice of Kokoro. At 24000 Hz only.
std::unique_ptr<Teacher> open_process_teacher(const std::string& name, int rate);
std::unique_ptr<Teacher> open_hts_teacher(const std::string& name, int rate);

/// Returns the time at which the pitch of a rising question begins to rise: the start of the last
/// stressed vowel, at most 0.45 s before the last phone ends.
double rise_start(const std::vector<syrinx::finch::PhoneSymbol>& stream,
                  const std::vector<double>& ends);
/// Returns the factor for the pitch at time `t`, because the teachers themselves do not rise.
double rise_factor(double t, double start, double end);
/// Returns the time at which the voice ends; the last segment is a pause.
double voice_end(const std::vector<double>& ends);
