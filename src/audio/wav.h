// Mono PCM and the WAV header in front of it, for files and for streams of unknown length.
// Free functions without state; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace syrinx {

/// How a sample is written: signed 16-bit, 32-bit float, both little-endian, or G.711's two laws.
enum class SampleCoding { kS16, kF32, kMulaw, kAlaw };
/// Bytes of one.
int64_t sample_bytes(SampleCoding coding);
/// "pcm_s16le", "linear16" and "pcm"; "pcm_f32le"; "pcm_mulaw", "mulaw" and "ulaw"; "pcm_alaw" and
/// "alaw": the names that vendors use. Nothing for any other.
std::optional<SampleCoding> sample_coding(std::string_view name);

/// Bytes of wav_header().
inline constexpr int64_t kWavHeaderBytes = 44;
/// The most 16-bit samples that the sizes of a header can state.
inline constexpr int64_t kWavMaxSamples = (0xFFFFFFFFll - kWavHeaderBytes) / 2;

/// Appends samples in [-1, 1] as signed 16-bit little-endian. Values outside are clipped; NaN
/// becomes silence.
void append_s16(std::span<const float> samples, std::string& out);
/// The same in any coding. G.711 is made from the 16-bit values, as a codec does.
void append_samples(std::span<const float> samples, SampleCoding coding, std::string& out);

/// Header of a mono file. samples < 0, or more than it can state: unknown, both sizes are
/// 0xFFFFFFFF, which players read as "until the end".
std::string wav_header(int sample_rate_hz, int64_t samples = -1,
                       SampleCoding coding = SampleCoding::kS16);

}  // namespace syrinx
