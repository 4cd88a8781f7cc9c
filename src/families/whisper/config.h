// Settings in config.json and generation_config.json of a Whisper checkpoint. Throws LoadError for
// values that are missing, contradictory or not supported.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "codec/whisper_encoder.h"
#include "io/json.h"

namespace syrinx::whisper {

/// Size of the published vocabulary of English-only models.
inline constexpr int64_t kEnglishVocab = 51864;

/// Sizes. Plain data.
struct ModelConfig {
  WhisperEncoderConfig encoder;
  int64_t layers = 4, heads = 6, ffn = 1536;  ///< sizes of the decoder; its width is the encoder's
  int64_t vocab = 51865;
  int64_t max_ids = 448;  ///< positions for ids of text in the decoder

  int width() const { return static_cast<int>(encoder.width); }
  int head_dim() const { return static_cast<int>(encoder.width / heads); }
};

/// A head of the decoder's cross-attention.
struct AlignmentHead {
  int layer = 0, head = 0;
  auto operator<=>(const AlignmentHead&) const = default;  // NOLINT(modernize-use-nullptr)
};

/// Ids with a special meaning, and settings of the rules for the next id (token_rules.h).
struct Generation {
  int32_t start = 50258, end = 50257, no_timestamps = 50363, previous = 50361;
  /// Ids of languages by ISO 639 code, and ids of tasks. Empty for an English-only model.
  std::map<std::string, int32_t> languages;
  int32_t transcribe = -1, translate = -1;
  std::vector<int32_t> suppressed, suppressed_first;
  /// Largest first timestamp of a window, in steps of 20 ms. -1 means any timestamp.
  int max_first_timestamp = 50;
  /// The heads whose attention follows the speech, in ascending order. If the checkpoint names no
  /// heads, these are all heads of the upper half of the layers.
  std::vector<AlignmentHead> alignment_heads;

  bool multilingual() const { return !languages.empty(); }
  int32_t no_speech() const { return no_timestamps - 1; }
  /// Returns the first of the 1501 ids of timestamps, 0.00 to 30.00 s.
  int32_t timestamps() const { return no_timestamps + 1; }
  bool is_timestamp(int32_t id) const { return id >= timestamps(); }
};

/// Returns whether a config belongs to a Whisper model, as published by its authors or converted by
/// CTranslate2 (families/whisper/ctranslate2.h).
bool claims(const Config& root);
/// Reads and checks the sizes. Throws LoadError.
ModelConfig load_model_config(const Config& root);
/// Reads a generation_config.json.
Generation load_generation(const Config& config, const ModelConfig& model);

}  // namespace syrinx::whisper
