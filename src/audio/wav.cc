#include "audio/wav.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

namespace syrinx {
namespace {

void append_le(uint64_t value, int bytes, std::string& out) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i) & 0xFF));
}

int16_t s16(float sample) {
  const float x = std::isnan(sample) ? 0.0f : std::clamp(sample, -1.0f, 1.0f);
  return static_cast<int16_t>(std::lrintf(x * 32767.0f));
}

uint8_t mulaw(int16_t sample) {  // G.711
  const int sign = sample < 0 ? 0x80 : 0;
  const int magnitude = std::min(std::abs(static_cast<int>(sample)), 32635) + 132;
  const int exponent = std::bit_width(static_cast<unsigned>(magnitude)) - 8;
  const int mantissa = magnitude >> (exponent + 3) & 15;
  return static_cast<uint8_t>(~(sign | exponent << 4 | mantissa));
}

uint8_t alaw(int16_t sample) {  // G.711
  const int sign = sample < 0 ? 0 : 0x80;
  const int magnitude = (sample < 0 ? -(sample + 1) : sample) >> 3;  // magnitude of 12 bits
  const int exponent =
      std::max(0, static_cast<int>(std::bit_width(static_cast<unsigned>(magnitude))) - 5);
  const int mantissa = magnitude >> std::max(1, exponent) & 15;
  return static_cast<uint8_t>((sign | exponent << 4 | mantissa) ^ 0x55);
}

/// Returns the coding's number in a WAV file.
int wav_format(SampleCoding coding) {
  switch (coding) {
    case SampleCoding::kS16:
      return 1;
    case SampleCoding::kF32:
      return 3;
    case SampleCoding::kAlaw:
      return 6;
    case SampleCoding::kMulaw:
      return 7;
  }
  return 1;
}

}  // namespace

int64_t sample_bytes(SampleCoding coding) {
  if (coding == SampleCoding::kF32) return 4;
  return coding == SampleCoding::kS16 ? 2 : 1;
}

std::optional<SampleCoding> sample_coding(std::string_view name) {
  if (name == "pcm_s16le" || name == "linear16" || name == "pcm") return SampleCoding::kS16;
  if (name == "pcm_f32le") return SampleCoding::kF32;
  if (name == "pcm_mulaw" || name == "mulaw" || name == "ulaw") return SampleCoding::kMulaw;
  if (name == "pcm_alaw" || name == "alaw") return SampleCoding::kAlaw;
  return {};
}

void append_s16(std::span<const float> samples, std::string& out) {
  const size_t begin = out.size();
  out.resize(begin + samples.size() * 2);
  char* to = out.data() + begin;
  for (const float sample : samples) {
    const auto bits = static_cast<uint16_t>(s16(sample));
    *to++ = static_cast<char>(bits & 0xFF);
    *to++ = static_cast<char>(bits >> 8);
  }
}

void append_samples(std::span<const float> samples, SampleCoding coding, std::string& out) {
  if (coding == SampleCoding::kS16) return append_s16(samples, out);
  out.reserve(out.size() + samples.size() * static_cast<size_t>(sample_bytes(coding)));
  for (const float sample : samples) {
    if (coding == SampleCoding::kF32) {
      const float x = std::isnan(sample) ? 0.0f : std::clamp(sample, -1.0f, 1.0f);
      append_le(std::bit_cast<uint32_t>(x), 4, out);
    } else {
      const int16_t x = s16(sample);
      out += static_cast<char>(coding == SampleCoding::kMulaw ? mulaw(x) : alaw(x));
    }
  }
}

std::string wav_header(int sample_rate_hz, int64_t samples, SampleCoding coding) {
  const int64_t each = sample_bytes(coding);
  const bool known = samples >= 0 && samples <= kWavMaxSamples * 2 / each;
  const uint64_t data_bytes = known ? static_cast<uint64_t>(samples * each) : 0xFFFFFFFFu;
  std::string out = "RIFF";
  append_le(known ? data_bytes + kWavHeaderBytes - 8 : 0xFFFFFFFFu, 4, out);
  out += "WAVEfmt ";
  append_le(16, 4, out);  // size of the rest of this chunk
  append_le(static_cast<uint64_t>(wav_format(coding)), 2, out);
  append_le(1, 2, out);  // number of channels
  append_le(static_cast<uint64_t>(sample_rate_hz), 4, out);
  append_le(static_cast<uint64_t>(sample_rate_hz * each), 4, out);  // bytes per second
  append_le(static_cast<uint64_t>(each), 2, out);                   // bytes per frame
  append_le(static_cast<uint64_t>(8 * each), 2, out);               // bits per sample
  out += "data";
  append_le(data_bytes, 4, out);
  return out;
}

}  // namespace syrinx
