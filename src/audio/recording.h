// Recordings that people bring, read from any common file format and looked after: decoded by
// libav's code for audio alone, mixed to mono (or of one channel) at their own rate, otherwise left
// as they are but for silence at both ends, which is cut away where that is asked for;
// refused in words for people when nothing can be made of them. The bytes are a stranger's: every
// size is bounded before it is allocated, nothing but these bytes is opened, and decoding has a
// deadline. Free functions without state; any thread.
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

/// Bounds of recordings, and of the time to decode them.
struct RecordingLimits {
  size_t max_bytes = size_t{32} << 20;  ///< of the file
  double max_s = 300;                   ///< of audio in it, silence and all
  double min_s = 0.3;                   ///< of the audio without the silence at its ends
  double max_decode_s = 20;             ///< of the wall clock
  double min_level_db = -60;            ///< as RecordedAudio::level_db
  /// True: reads the first of several channels; false: their mean, or the loudest if they cancel.
  bool first_channel = false;
  bool trim = false;  ///< cut silence at both ends away but for 0.15 s
  /// The helper whose confined children decode (audio/decode_helper.h); null: this process decodes.
  const DecodeHelper* helper = nullptr;
};

/// Mono samples as the file has them, and their properties before anything was cut.
struct RecordedAudio {
  std::vector<float> samples;
  int sample_rate = 0;  ///< Hz
  std::string format;   ///< as libav calls container and codec: "ogg/opus"
  double level_db = 0;  ///< of the loud parts, in dB of a full-scale square wave
  double clipped = 0;   ///< share of the samples that lie on a flat top at full scale
  double offset = 0;    ///< mean (DC), which stays in the samples
  double cut_begin_s = 0, cut_end_s = 0;  ///< silence that was cut away

  double seconds() const { return static_cast<double>(samples.size()) / sample_rate; }
};

/// The recording in the bytes of a file. Errors name "ref_audio".
Result<RecordedAudio> read_recording(std::string_view file, const RecordingLimits& limits = {});
/// The same from a file. Throws LoadError when it cannot be read.
Result<RecordedAudio> read_recording_file(const std::string& path,
                                          const RecordingLimits& limits = {});

/// Reads a file piece by piece, as it is: mixed to mono, values unbounded, nothing cut away. For
/// the limits max_s and first_channel count, and max_decode_s for each piece. One thread at a time.
class RecordingReader {
 public:
  /// Borrows the bytes, which are checked by the first read().
  explicit RecordingReader(std::string_view file, const RecordingLimits& limits = {});
  ~RecordingReader();
  RecordingReader(const RecordingReader&) = delete;
  RecordingReader& operator=(const RecordingReader&) = delete;

  /// Appends the next samples, about `count` of them; false when there are no more. An Error ends
  /// it. A file that holds no audio at all is one; a cut download is read as far as it goes.
  Result<bool> read(size_t count, std::vector<float>& out);
  /// Hz; known after the first read().
  int sample_rate() const;
  /// How long the file says that it is; 0 where it does not. For people: it may lie.
  double claimed_s() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Remarks for people about a recording that is accepted all the same: clipped, quiet, ...
std::vector<std::string> recording_remarks(const RecordedAudio& audio);

/// A WAV file of exactly these samples, of 16 bits where that is enough and else of floats:
/// parse_wav() and read_recording() give them back bit by bit.
std::string recording_wav(std::span<const float> samples, int sample_rate);

}  // namespace syrinx
