#include "audio/wav.h"

#include <algorithm>
#include <cmath>

namespace syrinx {
namespace {

void append_le(uint64_t value, int bytes, std::string& out) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i) & 0xFF));
}

}  // namespace

void append_s16(std::span<const float> samples, std::string& out) {
  const size_t begin = out.size();
  out.resize(begin + samples.size() * 2);
  char* to = out.data() + begin;
  for (const float sample : samples) {
    const float x = std::isnan(sample) ? 0.0f : std::clamp(sample, -1.0f, 1.0f);
    const auto bits = static_cast<uint16_t>(static_cast<int16_t>(std::lrintf(x * 32767.0f)));
    *to++ = static_cast<char>(bits & 0xFF);
    *to++ = static_cast<char>(bits >> 8);
  }
}

std::string wav_header(int sample_rate_hz, int64_t samples) {
  const bool known = samples >= 0 && samples <= kWavMaxSamples;
  const uint64_t data_bytes = known ? static_cast<uint64_t>(samples) * 2 : 0xFFFFFFFFu;
  std::string out = "RIFF";
  append_le(known ? data_bytes + kWavHeaderBytes - 8 : 0xFFFFFFFFu, 4, out);
  out += "WAVEfmt ";
  append_le(16, 4, out);  // size of what follows
  append_le(1, 2, out);   // PCM
  append_le(1, 2, out);   // channels
  append_le(static_cast<uint64_t>(sample_rate_hz), 4, out);
  append_le(static_cast<uint64_t>(sample_rate_hz) * 2, 4, out);  // bytes a second
  append_le(2, 2, out);                                          // bytes a frame
  append_le(16, 2, out);                                         // bits a sample
  out += "data";
  append_le(data_bytes, 4, out);
  return out;
}

}  // namespace syrinx
