// For tests: valid and malicious recordings.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "audio/make_encoder.h"

namespace syrinx {

inline constexpr int kRateHz = 16000;

/// Returns a tone of a given level between silences.
inline std::vector<float> tone(double tone_s, double silence_s = 0, double level = 0.3,
                               int rate = kRateHz) {
  const auto silence = static_cast<size_t>(silence_s * rate);
  std::vector<float> out(2 * silence + static_cast<size_t>(tone_s * rate));
  for (size_t i = silence; i + silence < out.size(); ++i) {
    out[i] = static_cast<float>(level * std::sin(0.05 * static_cast<double>(i)));
  }
  return out;
}

inline void le(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 255);
}

/// Returns a WAV file, possibly with a wrong header. data_bytes < 0 writes the true size.
inline std::string wav(const std::string& data, uint16_t kind = 1, uint16_t channels = 1,
                       uint32_t rate = kRateHz, uint16_t bits = 16, int64_t data_bytes = -1) {
  std::string out = "RIFF";
  const uint64_t size = data_bytes < 0 ? data.size() : static_cast<uint64_t>(data_bytes);
  le(out, size + 36, 4);
  out += "WAVEfmt ";
  le(out, 16, 4);
  le(out, kind, 2);
  le(out, channels, 2);
  le(out, rate, 4);
  le(out, uint64_t{rate} * channels * bits / 8, 4);
  le(out, channels * bits / 8, 2);
  le(out, bits, 2);
  out += "data";
  le(out, size, 4);
  return out + data;
}

inline std::string float_wav(const std::vector<float>& samples) {
  std::string data(samples.size() * 4, '\0');
  std::memcpy(data.data(), samples.data(), data.size());
  return wav(data, 3, 1, kRateHz, 32);
}

inline std::string encoded(AudioFormat format, const std::vector<float>& samples) {
  auto encoder = make_encoder({.format = format, .in_rate_hz = kRateHz}).take();
  std::string out;
  encoder->encode(samples, out);
  encoder->flush(out);
  return out;
}

}  // namespace syrinx
