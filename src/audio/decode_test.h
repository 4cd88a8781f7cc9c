// For tests: decodes whole encoded files with FFmpeg's libraries.
#pragma once

#include <string>
#include <vector>

#include "audio/labels.h"

namespace syrinx {

struct DecodedAudio {
  int rate_hz = 0;
  std::vector<float> samples;  ///< first channel, without the priming that the file declares
  AudioLabels labels;          ///< tags and chapters, without the track
};

/// Decodes a file. Throws std::runtime_error if the bytes are not audio.
DecodedAudio decode_audio(const std::string& bytes);

}  // namespace syrinx
