// 16-bit mono PCM and the WAV header in front of it, for files and for streams of unknown length.
// Free functions without state; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace syrinx {

/// Bytes of wav_header().
inline constexpr int64_t kWavHeaderBytes = 44;
/// The most samples that the sizes of a header can state.
inline constexpr int64_t kWavMaxSamples = (0xFFFFFFFFll - kWavHeaderBytes) / 2;

/// Appends samples in [-1, 1] as signed 16-bit little-endian. What lies outside is clipped; NaN
/// becomes silence.
void append_s16(std::span<const float> samples, std::string& out);

/// Header of a mono 16-bit file. samples < 0, or more than kWavMaxSamples: unknown, both sizes are
/// 0xFFFFFFFF, which players read as "until the end".
std::string wav_header(int sample_rate_hz, int64_t samples = -1);

}  // namespace syrinx
