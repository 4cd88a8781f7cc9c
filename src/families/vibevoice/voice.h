// The published voices of VibeVoice-Realtime: PyTorch files (voices/NAME.pt) with both models'
// caches after a recording and its text, and the companion's caches without these. Const after
// construction; thread-safe.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "families/loading/voice_files.h"
#include "families/vibevoice/config.h"

namespace syrinx::vibevoice {

/// A voice as the first rows of its requests. Each row is the contents of the KV cache at its
/// position [ModelConfig::cache_row()]: layer by layer, keys, then values. Only the first `texts`
/// rows have a cache of the text model; in other rows, it is zeros.
struct VoiceRows {
  std::vector<float> numbers;  ///< [rows, cache_row]
  /// [companion_rows, cache_row + H]: in each row, the speech model's output follows the cache.
  std::vector<float> companion;
  int rows = 0, texts = 0, companion_rows = 0;

  std::span<const float> row(int at) const { return part(numbers, rows, at); }
  std::span<const float> companion_row(int at) const { return part(companion, companion_rows, at); }

 private:
  static std::span<const float> part(const std::vector<float>& all, int rows, int at) {
    const size_t width = all.size() / static_cast<size_t>(rows);
    return std::span(all).subspan(static_cast<size_t>(at) * width, width);
  }
};

/// Returns the voices in files NAME.pt anywhere below voices/ or demo/voices/ of a checkpoint.
std::unique_ptr<VoiceFiles<VoiceRows>> open_voices(const ModelConfig& config,
                                                   const std::string& dir);

/// Makes a voice of small random numbers, for random weights.
VoiceRows random_voice(const ModelConfig& config);

}  // namespace syrinx::vibevoice
