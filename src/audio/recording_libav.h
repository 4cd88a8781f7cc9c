// Decodes files for audio/recording.h, with libav.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "audio/recording.h"
#include "base/check.h"

namespace syrinx {

/// Returns the error for an invalid recording.
inline Error bad_audio(std::string message) {
  return {ErrorCode::kInvalid, std::move(message), "ref_audio"};
}

/// Returns the error for a recording with more than `most` bytes.
inline Error too_many_bytes(size_t bytes, size_t most) {
  return bad_audio(concat("the recording has ", bytes, " bytes; at most ", most, " are allowed"));
}

/// Range of supported sample rates.
constexpr int kMinHz = 4000, kMaxHz = 192'000;

/// Decodes the first audio stream of a file to mono samples. The samples are finite, but not
/// limited to [-1, 1]. One thread at a time.
class Decoding {
 public:
  virtual ~Decoding() = default;
  /// Reads samples like RecordingReader::read().
  virtual Result<bool> read(size_t count, std::vector<float>& out) = 0;
  // The following functions return values that are known only after the first read().
  virtual int sample_rate() const = 0;
  virtual const std::string& format() const = 0;
  virtual double claimed_s() const = 0;
};

/// Decodes in this process.
std::unique_ptr<Decoding> decode_here(std::string_view file, const RecordingLimits& limits);
/// Decodes in this process or in limits.helper. Borrows the bytes and the helper.
std::unique_ptr<Decoding> start_decoding(std::string_view file, const RecordingLimits& limits);

/// A whole decoded file: mono samples at its own rate.
struct DecodedFile {
  std::vector<float> samples;
  int sample_rate = 0;
  std::string format;
};

/// Decodes a whole file, in this process or in limits.helper.
Result<DecodedFile> decode_file(std::string_view file, const RecordingLimits& limits);

}  // namespace syrinx
