// Recordings that people bring, read from any common file format and looked after: decoded by
// libav's code for audio alone, mixed to mono at their own rate, silence at both ends cut away,
// refused in words for people when nothing can be made of them. The bytes are a stranger's: every
// size is bounded before it is allocated, nothing but these bytes is opened, and decoding has a
// deadline. Free functions without state; any thread.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace syrinx {

struct RecordingLimits {
  size_t max_bytes = size_t{32} << 20;  ///< of the file
  double max_s = 300;                   ///< of audio in it, silence and all
  double min_s = 0.3;                   ///< of what is left without the silence at its ends
  double max_decode_s = 20;             ///< of the wall clock
  double min_level_db = -60;            ///< as RecordedAudio::level_db
};

/// Mono samples on the grid of 16 bits, k / 32768, so that they are the same after being kept in a
/// file; and what was found in them before anything was changed.
struct RecordedAudio {
  std::vector<float> samples;
  int sample_rate = 0;   ///< Hz
  std::string format;    ///< as libav calls container and codec: "ogg/opus"
  double level_db = 0;   ///< of the loud parts, in dB of a full-scale square wave
  double clipped = 0;    ///< share of the samples that lie on a flat top at full scale
  double offset = 0;     ///< mean (DC) that was taken away
  double cut_begin_s = 0, cut_end_s = 0;  ///< silence that was cut away

  double seconds() const { return static_cast<double>(samples.size()) / sample_rate; }
};

/// The recording in the bytes of a file. Errors name "ref_audio".
Result<RecordedAudio> read_recording(std::string_view file, const RecordingLimits& limits = {});
/// The same from a file. Throws LoadError when it cannot be read.
Result<RecordedAudio> read_recording_file(const std::string& path,
                                          const RecordingLimits& limits = {});

/// What a person should know of a recording that is taken all the same: clipped, quiet, ...
std::vector<std::string> recording_remarks(const RecordedAudio& audio);

/// A 16-bit WAV file of exactly these samples; parse_wav() gives them back bit by bit.
std::string recording_wav(std::span<const float> samples, int sample_rate);

}  // namespace syrinx
