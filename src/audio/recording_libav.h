// The decoding behind audio/recording.h, by libav.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "audio/recording.h"

namespace syrinx {

/// What is wrong with a stranger's recording.
inline Error bad_audio(std::string message) {
  return {ErrorCode::kInvalid, std::move(message), "ref_audio"};
}

struct DecodedFile {
  std::vector<float> samples;  ///< mono, unbounded in value, free of NaN
  int sample_rate = 0;
  std::string format;
};

/// Decodes the first audio stream.
Result<DecodedFile> decode_file(std::string_view file, const RecordingLimits& limits);

}  // namespace syrinx
