// Reads recordings of users, in any common file format. They are decoded by libav, mixed to mono
// (or reduced to one channel) at their own rate, and otherwise unchanged. Silence at both ends is
// removed on request. An unusable recording is refused with a message for users. The bytes are
// untrusted: every size is limited before it is allocated, no other file is opened, and decoding
// has a deadline. Free functions without state; any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace syrinx {

class DecodeHelper;

/// Limits of recordings, and of the time to decode them.
struct RecordingLimits {
  size_t max_bytes = size_t{32} << 20;  ///< most bytes of the file
  double max_s = 300;                   ///< most seconds of audio, including silence
  double min_s = 0.3;                   ///< fewest seconds of audio, without silence at the ends
  double max_decode_s = 20;             ///< most seconds of wall-clock time
  double min_level_db = -60;            ///< smallest accepted RecordedAudio::level_db
  /// True: reads the first of several channels. False: their mean, or the loudest if they cancel.
  bool first_channel = false;
  bool trim = false;  ///< remove silence at both ends, except 0.15 s
  /// The helper whose confined children decode (audio/decode_helper.h). Null means this process.
  const DecodeHelper* helper = nullptr;
};

/// Mono samples of a file, and their properties before anything was removed.
struct RecordedAudio {
  std::vector<float> samples;
  int sample_rate = 0;  ///< sample rate in Hz
  std::string format;   ///< container and codec in libav's names: "ogg/opus"
  double level_db = 0;  ///< level of the loud parts, in dB of a full-scale square wave
  double clipped = 0;   ///< fraction of samples in runs at full scale, which count as clipped
  double offset = 0;    ///< mean (DC), which is not removed from the samples
  double cut_begin_s = 0, cut_end_s = 0;  ///< seconds of silence that were removed

  double seconds() const { return static_cast<double>(samples.size()) / sample_rate; }
};

/// Reads a recording from the bytes of a file. Errors name "ref_audio".
Result<RecordedAudio> read_recording(std::string_view file, const RecordingLimits& limits = {});
/// Reads the recording from a file. Throws LoadError if the file cannot be read.
Result<RecordedAudio> read_recording_file(const std::string& path,
                                          const RecordingLimits& limits = {});

/// Reads a file piece by piece, mixed to mono. Neither limits values nor removes silence. Only
/// these limits apply: max_s, first_channel, and max_decode_s for each piece. One thread at a time.
class RecordingReader {
 public:
  /// Borrows the bytes; the first read() checks them.
  explicit RecordingReader(std::string_view file, const RecordingLimits& limits = {});
  ~RecordingReader();
  RecordingReader(const RecordingReader&) = delete;
  RecordingReader& operator=(const RecordingReader&) = delete;

  /// Appends about `count` more samples; returns false at the end. After an Error, reading has
  /// ended. A file without audio is an Error; a truncated file is read to its end.
  Result<bool> read(size_t count, std::vector<float>& out);
  /// Returns the rate in Hz; known after the first read().
  int sample_rate() const;
  /// Returns the length in seconds that the file states; 0 without one. It may be wrong.
  double claimed_s() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Returns remarks for users about an accepted recording, e.g. that it is clipped or quiet.
std::vector<std::string> recording_remarks(const RecordedAudio& audio);

/// Returns a WAV file of exactly these samples: with 16 bits if that is lossless, otherwise with
/// floats. parse_wav() and read_recording() return the same bits.
std::string recording_wav(std::span<const float> samples, int sample_rate);

}  // namespace syrinx
