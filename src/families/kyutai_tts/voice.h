// The published voices of Kyutai TTS: files NAME.SIGNATURE@EPOCH.safetensors with one tensor
// `speaker_wavs` [1, W, T], rows of a recording of ten seconds. Const after construction;
// thread-safe. W: width of a row.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "families/family.h"
#include "families/kyutai_tts/config.h"
#include "families/loading/voice_files.h"

namespace syrinx::kyutai_tts {

/// The rows of a voice [T, W].
struct SpeakerRows {
  static constexpr int64_t kMost = 250;  ///< largest T that is accepted; published voices have 125
  /// The model's memory has this many places for voices (moshi:moshi/models/tts.py, max_speakers).
  static constexpr int kPlaces = 5;

  std::vector<float> numbers;
  int rows = 0;
  uint64_t hash = 0;  ///< of the numbers, for prefix keys

  /// Returns the rows of memory that a request with this voice has.
  int memory_rows() const { return kPlaces * rows; }
  /// Returns row `at` of the memory. Empty: the place has no voice.
  std::span<const float> row(int at) const {
    if (at >= rows) return {};
    const size_t width = numbers.size() / static_cast<size_t>(rows);
    return std::span(numbers).subspan(static_cast<size_t>(at) * width, width);
  }
};

/// The repository of published voices, and its short name for downloads.
inline constexpr const char* kVoices = "kyutai/tts-voices";
inline constexpr const char* kKnownVoices = "kyutai-tts-voices";

/// Returns the voices below voices/ of a checkpoint, by the names of their recordings. If it has
/// none and its weights are not random, returns those of the repository in the hub's cache.
std::unique_ptr<VoiceFiles<SpeakerRows>> open_voices(const ModelConfig& config,
                                                     const LoadSpec& spec);
/// Makes a voice of small random numbers, for random weights.
SpeakerRows random_voice(const ModelConfig& config);

}  // namespace syrinx::kyutai_tts
