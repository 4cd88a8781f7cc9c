#include "server/realtime/spoken_bytes.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ears/recogniser.h"

namespace syrinx {
namespace {

/// ITU-T G.711: a sign bit, three bits of segment and four bits within the segment.
int16_t from_mulaw(uint8_t code) {
  const int bits = ~code & 0xFF;
  const int magnitude = ((((bits & 0x0F) << 3) + 0x84) << (bits >> 4 & 7)) - 0x84;
  return static_cast<int16_t>((bits & 0x80) != 0 ? -magnitude : magnitude);
}

int16_t from_alaw(uint8_t code) {
  const int bits = code ^ 0x55;
  const int segment = bits >> 4 & 7;
  const int low = (bits & 0x0F) << 4;
  const int magnitude = segment == 0 ? low + 8 : (low + 0x108) << (segment - 1);
  return static_cast<int16_t>((bits & 0x80) != 0 ? magnitude : -magnitude);
}

}  // namespace

const char* RealtimeFormat::name() const {
  return coding == SampleCoding::kMulaw  ? "audio/pcmu"
         : coding == SampleCoding::kAlaw ? "audio/pcma"
                                         : "audio/pcm";
}

std::optional<RealtimeFormat> realtime_format(std::string_view name) {
  for (const SampleCoding coding :
       {SampleCoding::kS16, SampleCoding::kMulaw, SampleCoding::kAlaw}) {
    if (name == RealtimeFormat{coding}.name()) return RealtimeFormat{coding};
  }
  return {};
}

std::vector<float> samples_of(std::string_view bytes, RealtimeFormat format) {
  std::vector<float> out;
  if (format.coding == SampleCoding::kS16) {
    out.reserve(bytes.size() / 2);
    for (size_t i = 0; i + 1 < bytes.size(); i += 2) {
      const int low = static_cast<uint8_t>(bytes[i]), high = static_cast<uint8_t>(bytes[i + 1]);
      out.push_back(static_cast<float>(static_cast<int16_t>(high << 8 | low)) / 32768.f);
    }
    return out;
  }
  const auto decode = format.coding == SampleCoding::kMulaw ? from_mulaw : from_alaw;
  out.reserve(bytes.size());
  for (const char byte : bytes) {
    out.push_back(static_cast<float>(decode(static_cast<uint8_t>(byte))) / 32768.f);
  }
  return out;
}

InputAudio::InputAudio(RealtimeFormat format)
    : format_(format), resampler_(std::make_unique<Resampler>(format.rate_hz(), kHearingRate)) {}

void InputAudio::push(std::string_view bytes, std::vector<float>& out) {
  resampler_->push(samples_of(bytes, format_), out);
}

void keep_samples(std::span<const float> samples, std::vector<int16_t>& out) {
  for (const float sample : samples) {
    out.push_back(
        static_cast<int16_t>(std::lrintf(std::clamp(sample * 32768.f, -32768.f, 32767.f))));
  }
}

std::vector<float> heard_samples(std::span<const int16_t> kept) {
  std::vector<float> out;
  out.reserve(kept.size());
  for (const int16_t sample : kept) out.push_back(static_cast<float>(sample) / 32768.f);
  return out;
}

std::string bytes_in(std::span<const int16_t> samples, RealtimeFormat format) {
  std::string out;
  append_samples(resampled(heard_samples(samples), kHearingRate, format.rate_hz()), format.coding,
                 out);
  return out;
}

}  // namespace syrinx
