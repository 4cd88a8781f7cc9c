// Encodes a stream of samples into an audio format while the stream is being made. The bytes do not
// depend on how the stream is cut into calls. One thread at a time.
#pragma once

#include <span>
#include <string>

namespace syrinx {

/// The encoder of one stream, from its first sample to its last (see audio/make_encoder.h).
class Encoder {
 public:
  virtual ~Encoder() = default;
  /// Returns the sample rate of the decoded audio in Hz.
  virtual int rate_hz() const = 0;
  /// Returns whether encode() is fast enough to run on a thread that serves other streams, too.
  virtual bool cheap() const = 0;
  /// Appends the bytes that became ready to `out`. The first bytes include the format's header.
  /// Samples are in [-1, 1]; values outside are clipped, and NaN becomes silence.
  virtual void encode(std::span<const float> samples, std::string& out) = 0;
  /// Appends the remaining bytes. encode() must not be called afterwards.
  virtual void flush(std::string& out) = 0;
  /// Returns, after flush(), the first bytes with the final length (WAV, FLAC, MP3, labelled M4A),
  /// so that a caller can overwrite the first bytes. Empty if the format's header has no length.
  virtual std::string first_bytes() const { return {}; }
};

}  // namespace syrinx
