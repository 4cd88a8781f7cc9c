// Settings in config.json and generation_config.json of a Qwen3-TTS checkpoint. Plain data, checked
// when read: every id lies inside its table. Throws LoadError for what is missing, contradictory or
// not supported.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "io/json.h"
#include "nn/decoder.h"

namespace syrinx::qwen3_tts {

/// Ids of the talker's vocabulary that are not audio codes.
struct CodecIds {
  int32_t pad = 0, bos = 0, eos = 0, think = 0, nothink = 0, think_bos = 0, think_eos = 0;
};

/// Ids of the text vocabulary.
struct TextIds {
  int32_t im_start = 0, im_end = 0, tts_pad = 0, tts_bos = 0, tts_eos = 0;
};

/// generation_config.json, with the authors' defaults for keys that it lacks.
struct Defaults {
  bool sample = true, inner_sample = true;
  float temperature = 0.9f, top_p = 1.f, repetition_penalty = 1.05f;
  float inner_temperature = 0.9f, inner_top_p = 1.f;
  int top_k = 50, inner_top_k = 50;
  int64_t max_frames = 2048;
};

/// The encoder of recordings to speaker vectors; Base checkpoints only.
struct SpeakerConfig {
  int64_t mels = 128;
  int64_t width = 1024;  ///< width of the vector
  /// Channels and taps by layer: the first, the SE-Res2Net blocks, and the layer that reads the
  /// output of all blocks.
  std::vector<int64_t> channels = {512, 512, 512, 512, 1536}, taps = {5, 3, 3, 3, 1},
                       dilations = {1, 2, 3, 4, 1};
  int64_t attention = 128, parts = 8, squeezed = 128;
  int64_t sample_rate = 24000;  ///< Hz
};

/// The purpose that a checkpoint was trained for.
enum class Kind { kCustomVoice, kVoiceDesign, kBase };

/// Sizes and ids. Plain data.
struct ModelConfig {
  Kind kind = Kind::kCustomVoice;
  std::string size;  ///< "0b6", "1b7"
  DecoderConfig talker, predictor;
  int64_t max_positions = 32768;  ///< positions of the talker
  int64_t codebooks = 16;         ///< C
  int64_t talker_vocab = 0;       ///< audio codes of codebook 0, then 1024 other ids
  int64_t code_vocab = 0;         ///< vocabulary of the other codebooks
  int64_t text_vocab = 0, text_hidden = 0;
  CodecIds codec;
  TextIds text;
  std::map<std::string, int64_t> speakers;      ///< lower-case name -> id
  std::map<std::string, std::string> dialects;  ///< speaker -> native language
  std::map<std::string, int64_t> languages;     ///< lower-case name -> id
  Defaults defaults;
  SpeakerConfig speaker;  ///< with Kind::kBase

  /// Returns the number of audio ids: the talker's ids [0, audio_codes()). The later ids are never
  /// sampled, except eos.
  int64_t audio_codes() const { return talker_vocab - kOtherIds; }
  /// Returns whether instructions have an effect: the published 0.6B models ignore them, and Base
  /// models were not trained for them.
  bool instructions() const { return size != "0b6" && kind != Kind::kBase; }

  static constexpr int64_t kOtherIds = 1024;
};

/// Whether this config.json belongs to the family.
bool claims(const Config& root);
/// Reads and checks the sizes of all networks. Throws LoadError.
ModelConfig load_model_config(const Config& root);
/// Reads the default sampling; for absent files it returns the built-in values.
Defaults load_defaults(const std::string& path);

}  // namespace syrinx::qwen3_tts
