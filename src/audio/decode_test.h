// Decodes whole encoded files with FFmpeg's libraries, for tests.
#pragma once

#include <string>
#include <vector>

namespace syrinx {

struct DecodedAudio {
  int rate_hz = 0;
  std::vector<float> samples;  ///< first channel; priming that the file declares is left out
};

/// Throws std::runtime_error when the bytes are no audio.
DecodedAudio decode_audio(const std::string& bytes);

}  // namespace syrinx
