#include "ears/voice_gate.h"

#include <algorithm>

namespace syrinx {
namespace {

constexpr float kVoice = 0.5f;    // smallest probability at which a chunk has a voice
constexpr int kFewestVoices = 4;  // least number of voiced chunks of 32 ms

}  // namespace

void VoiceGate::hear(std::span<const float> samples) {
  for (const float probability : stream_.hear(samples)) voices_.push_back(probability >= kVoice);
}

bool VoiceGate::speaks(int64_t from, int64_t to) const {
  constexpr int64_t kChunk = SileroVad::kChunk;
  const auto heard = std::ssize(voices_);
  const auto begin = voices_.begin() + std::min(from / kChunk, heard);
  const auto end = voices_.begin() + std::min((to + kChunk - 1) / kChunk, heard);
  return std::count(begin, end, true) >= kFewestVoices;
}

}  // namespace syrinx
