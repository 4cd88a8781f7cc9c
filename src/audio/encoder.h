// Turns a stream of samples into the bytes of an audio format while it is being made. How a stream
// is cut into calls never changes its bytes. One thread at a time.
#pragma once

#include <span>
#include <string>

namespace syrinx {

/// One stream, from its first sample to its last (audio/make_encoder.h makes them).
class Encoder {
 public:
  virtual ~Encoder() = default;
  /// Rate at which the bytes are decoded, in Hz.
  virtual int rate_hz() const = 0;
  /// Whether encode() takes so little time that it may run on a thread that serves others.
  virtual bool cheap() const = 0;
  /// Appends to `out` the bytes that became ready; a format's header comes with the first ones.
  /// Samples in [-1, 1]; values outside are clipped and NaN is silence.
  virtual void encode(std::span<const float> samples, std::string& out) = 0;
  /// Appends the rest. Nothing may be encoded after it.
  virtual void flush(std::string& out) = 0;
  /// After flush(): the first bytes as they are for the length that is known now (WAV, FLAC, MP3),
  /// for a caller that can still overwrite them; empty where the format's beginning has no length.
  virtual std::string first_bytes() const { return {}; }
};

}  // namespace syrinx
