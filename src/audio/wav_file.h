// Writes speech as whole WAV files, and reads small WAV files for tests and tools. Contents are not
// trusted. Faults are LoadErrors with file, chunk, expected and actual value. Rates are in Hz.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace syrinx {

/// Writes mono samples in [-1, 1] as 16-bit PCM. The file gets its name only when it is complete.
void write_wav(const std::string& path, std::span<const float> samples, int sample_rate_hz);

/// The content of a WAV file; channels are interleaved.
struct Wav {
  uint32_t rate = 0, channels = 0;
  std::vector<float> samples;
};

/// Parses 16-bit PCM (full scale is 32768) or 32-bit float in 1 to 8 channels. If the header has no
/// length, as in a stream, all following bytes are samples. `path` is for messages.
Wav parse_wav(std::string_view bytes, const std::string& path);
/// Reads a WAV file of at most `limit` bytes.
Wav read_wav(const std::string& path, size_t limit = size_t{1} << 30);

}  // namespace syrinx
