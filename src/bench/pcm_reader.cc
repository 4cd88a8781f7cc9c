#include "bench/pcm_reader.h"

#include "base/check.h"

namespace syrinx {
namespace {

constexpr size_t kMaxRiffHeader = 4096;

uint32_t u32(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  for (int i = 3; i >= 0; --i) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  return value;
}
uint32_t u16(std::string_view bytes, size_t at) {
  return static_cast<uint8_t>(bytes[at]) |
         static_cast<uint32_t>(static_cast<uint8_t>(bytes[at + 1])) << 8;
}

}  // namespace

/// Searches for the data chunk in pending_ and removes everything before its samples. Does nothing
/// while the header is incomplete.
void PcmReader::read_header() {
  const std::string_view bytes = pending_;
  if (bytes.size() < 12) return;
  if (bytes.substr(8, 4) != "WAVE") {
    fault_ = "the audio is RIFF but not WAVE";
    return;
  }
  for (size_t at = 12; at + 8 <= bytes.size();) {
    const std::string_view name = bytes.substr(at, 4);
    const size_t size = u32(bytes, at + 4);
    if (name == "data") {
      pending_.erase(0, at + 8);
      state_ = State::kSamples;
      return;
    }
    if (size > kMaxRiffHeader || at + 8 + size > kMaxRiffHeader) {
      fault_ = "the WAV header is too long";
      return;
    }
    if (at + 8 + size > bytes.size()) return;
    if (name == "fmt ") {
      const bool whole = size >= 16;
      if (!whole || u16(bytes, at + 8) != 1 || u16(bytes, at + 10) != 1 ||
          u16(bytes, at + 22) != 16 || u32(bytes, at + 12) < 1000 || u32(bytes, at + 12) > 384000) {
        fault_ = "the WAV file is not 16-bit mono at 1 to 384 kHz";
        return;
      }
      rate_hz_ = static_cast<int>(u32(bytes, at + 12));
    }
    at += 8 + size + size % 2;
  }
  if (bytes.size() > kMaxRiffHeader) fault_ = "the WAV header is too long";
}

std::span<const int16_t> PcmReader::take(std::string_view bytes) {
  samples_.clear();
  if (!fault_.empty()) return {};
  pending_ += bytes;
  if (state_ == State::kStart && pending_.size() >= 4) {
    state_ = pending_.starts_with("RIFF") ? State::kHeader : State::kSamples;
  }
  if (state_ == State::kHeader) read_header();
  if (state_ != State::kSamples || !fault_.empty()) return {};
  const size_t count = pending_.size() / 2;
  samples_.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    samples_.push_back(static_cast<int16_t>(u16(pending_, 2 * i)));
  }
  pending_.erase(0, 2 * count);
  return samples_;
}

}  // namespace syrinx
