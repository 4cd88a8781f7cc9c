// WAV files: headers for what is spoken (16-bit, one channel), whole or streamed, and a small
// reader for tests and tools. Samples are floats in [-1, 1]; rates are in Hz.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace syrinx {

inline constexpr size_t kWavHeaderBytes = 44;
using WavHeader = std::array<uint8_t, kWavHeaderBytes>;

/// The header of `samples` 16-bit samples of one channel. More than fit into a WAV file (2 GiB)
/// are an InternalError: bound them earlier.
WavHeader wav_header(uint32_t rate, uint64_t samples);
/// The header of a stream whose length is not known: both sizes are 0xFFFFFFFF, as players expect.
WavHeader wav_stream_header(uint32_t rate);

/// Rounds to the nearest of 65536 steps; what exceeds [-1, 1] is clipped, no number is silence.
int16_t to_s16(float sample);
/// The same for many; out has as many as in.
void to_s16(std::span<const float> in, int16_t* out);
/// Little-endian bytes, as a WAV body or raw PCM wants them.
std::string s16_bytes(std::span<const float> samples);

/// A whole file in memory, and to disk (LoadError when that fails; never half a file).
std::string wav_file(std::span<const float> samples, uint32_t rate);
void write_wav(const std::string& path, std::span<const float> samples, uint32_t rate);

/// What a WAV file holds; channels are interleaved.
struct Wav {
  uint32_t rate = 0, channels = 0;
  std::vector<float> samples;
};

/// Reads 16-bit PCM or 32-bit float in 1 to 8 channels, also a stream's header; LoadError
/// otherwise. `path` is for messages.
Wav parse_wav(std::string_view bytes, const std::string& path);
/// The same from a file of at most `limit` bytes.
Wav read_wav(const std::string& path, size_t limit = size_t{1} << 30);

}  // namespace syrinx
