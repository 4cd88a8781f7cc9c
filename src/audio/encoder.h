// Turns a stream of samples into the bytes of an audio format while it is being made: WAV and raw
// PCM by hand, MP3, Opus, AAC, M4A and FLAC through FFmpeg's libraries, each with one state from
// the first sample to the last, so that there is no seam to hear. How a stream is cut into calls
// never changes its bytes. One thread at a time.
//
// How long the result plays, for n samples at rate_hz():
//   wav, pcm, flac  n samples exactly
//   opus            n samples exactly: the stream declares its priming and where it ends
//   mp3             n samples and up to two frames of silence after them; the priming is declared
//                   in an Info frame, the end cannot be, because it comes first
//   aac             1024 samples of priming, n samples, up to a frame of silence: ADTS has no place
//                   to declare either
//   m4a             the same samples as aac, in fragments of MP4, a quarter of a second each; an
//   edit
//                   list declares the priming, which FFmpeg does not read where there are fragments
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "audio/wav.h"
#include "base/error.h"

namespace syrinx {

/// Containers and codings that an Encoder writes.
enum class AudioFormat { kMp3, kOpus, kAac, kFlac, kWav, kPcm, kM4a };

/// "mp3", "opus" or "ogg", "aac", "flac", "wav", "pcm", "m4a"; nothing for any other name.
std::optional<AudioFormat> audio_format(std::string_view name);
/// "mp3", ...; static storage.
const char* audio_format_name(AudioFormat format);
/// "audio/mpeg", ...; static storage.
const char* mime_type(AudioFormat format);

struct EncoderOptions;
/// What an HTTP answer of bare audio says it is: "audio/mpeg", "audio/pcm; rate=24000; channels=1".
/// `rate_hz` as Encoder::rate_hz().
std::string content_type(const EncoderOptions& options, int rate_hz);

/// What comes in, and what is made of it.
struct EncoderOptions {
  AudioFormat format = AudioFormat::kWav;
  int in_rate_hz = 24000;
  int out_rate_hz = 0;  ///< 0: the input's, or the next one that the format knows
  double speed = 1;     ///< 0.25 to 4, with the pitch kept
  double volume = 1;    ///< as change_volume()
  SampleCoding coding = SampleCoding::kS16;  ///< of pcm and wav; other formats have their own
};

class Encoder {
 public:
  virtual ~Encoder() = default;
  /// Rate at which the bytes are decoded, in Hz.
  virtual int rate_hz() const = 0;
  /// Whether encode() takes so little time that it may run on a thread that serves others.
  virtual bool cheap() const = 0;
  /// Appends to `out` the bytes that became ready; a format's header comes with the first ones.
  /// Samples in [-1, 1]; what lies outside is clipped and NaN is silence.
  virtual void encode(std::span<const float> samples, std::string& out) = 0;
  /// Appends the rest. Nothing may be encoded after it.
  virtual void flush(std::string& out) = 0;
  /// After flush(): what the first bytes would have been, had the length been known (WAV, FLAC),
  /// for whoever can still write over them; empty where the format's beginning tells no length.
  virtual std::string first_bytes() const { return {}; }
};

/// An Error names "sample_rate", "speed" or "volume" when the format cannot do it, and kInternal
/// when the libraries lack the encoder.
Result<std::unique_ptr<Encoder>> make_encoder(const EncoderOptions& options);

}  // namespace syrinx
