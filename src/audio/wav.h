// Mono PCM samples and the WAV header before them, for files and for streams of unknown length.
// Free functions without state; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace syrinx {

/// Coding of a sample: signed 16-bit or 32-bit float, both little-endian, or one of G.711's two
/// laws.
enum class SampleCoding { kS16, kF32, kMulaw, kAlaw };
/// Returns the bytes of one sample.
int64_t sample_bytes(SampleCoding coding);
/// Finds a coding by the names that vendors use: "pcm_s16le", "linear16" and "pcm"; "pcm_f32le";
/// "pcm_mulaw", "mulaw" and "ulaw"; "pcm_alaw" and "alaw". Empty for any other name.
std::optional<SampleCoding> sample_coding(std::string_view name);

/// Bytes of the header that wav_header() returns.
inline constexpr int64_t kWavHeaderBytes = 44;
/// Largest number of 16-bit samples that a WAV header can state.
inline constexpr int64_t kWavMaxSamples = (0xFFFFFFFFll - kWavHeaderBytes) / 2;

/// Appends samples in [-1, 1] as signed 16-bit little-endian. Clips values outside the range; NaN
/// becomes silence.
void append_s16(std::span<const float> samples, std::string& out);
/// Appends samples in any coding. G.711 codes are computed from 16-bit values, as codecs do.
void append_samples(std::span<const float> samples, SampleCoding coding, std::string& out);

/// Returns the header of a mono file. The length is unknown if samples < 0 or above what the header
/// can state. Then both sizes are 0xFFFFFFFF, which players read as "until the end".
std::string wav_header(int sample_rate_hz, int64_t samples = -1,
                       SampleCoding coding = SampleCoding::kS16);

}  // namespace syrinx
