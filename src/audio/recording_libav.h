// The decoding behind audio/recording.h, by libav.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "audio/recording.h"
#include "base/check.h"

namespace syrinx {

/// The error for an invalid recording.
inline Error bad_audio(std::string message) {
  return {ErrorCode::kInvalid, std::move(message), "ref_audio"};
}

/// The error of a recording with more than `most` bytes.
inline Error too_many_bytes(size_t bytes, size_t most) {
  return bad_audio(concat("the recording has ", bytes, " bytes; at most ", most, " are taken"));
}

/// Rates of samples and numbers of channels that are taken.
constexpr int kMinHz = 4000, kMaxHz = 192'000;

/// The first audio stream of a file on its way to samples, mono, unbounded in value and free of
/// NaN. One thread at a time.
class Decoding {
 public:
  virtual ~Decoding() = default;
  /// As RecordingReader::read().
  virtual Result<bool> read(size_t count, std::vector<float>& out) = 0;
  // Known after the first read().
  virtual int sample_rate() const = 0;
  virtual const std::string& format() const = 0;
  virtual double claimed_s() const = 0;
};

/// In this process.
std::unique_ptr<Decoding> decode_here(std::string_view file, const RecordingLimits& limits);
/// Where the limits say. Borrows the bytes, and the limits' helper.
std::unique_ptr<Decoding> start_decoding(std::string_view file, const RecordingLimits& limits);

/// All of a file: mono samples at its own rate.
struct DecodedFile {
  std::vector<float> samples;
  int sample_rate = 0;
  std::string format;
};

/// All of it, where the limits say.
Result<DecodedFile> decode_file(std::string_view file, const RecordingLimits& limits);

}  // namespace syrinx
