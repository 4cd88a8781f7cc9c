// Settings in config.json and generation_config.json of a Qwen3-TTS checkpoint. Plain data, checked
// when read: every id is inside its table. Throws LoadError for values that are missing,
// contradictory or not supported.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "io/json.h"
#include "kernels/sample.h"
#include "nn/decoder.h"

namespace syrinx::qwen3_tts {

/// Special ids of the talker's vocabulary, which are not audio codes.
struct CodecIds {
  int32_t pad = 0, bos = 0, eos = 0, think = 0, nothink = 0, think_bos = 0, think_eos = 0;
};

/// Ids of the text vocabulary.
struct TextIds {
  int32_t im_start = 0, im_end = 0, tts_pad = 0, tts_bos = 0, tts_eos = 0;
};

/// Values of generation_config.json. Keys that it lacks have the authors' defaults.
struct Defaults {
  SampleParams outer{.temperature = 0.9f, .top_k = 50, .repetition_penalty = 1.05f};
  SampleParams inner{.temperature = 0.9f, .top_k = 50};  ///< of the codes after the first
  int64_t max_frames = 2048;
};

/// Sizes of the encoder that turns recordings into speaker vectors. Only for Base checkpoints.
struct SpeakerConfig {
  int64_t mels = 128;
  int64_t width = 1024;  ///< width of the vector
  /// Channels and taps by layer: the first layer, the SE-Res2Net blocks, and the layer that reads
  /// the output of all blocks.
  std::vector<int64_t> channels = {512, 512, 512, 512, 1536}, taps = {5, 3, 3, 3, 1},
                       dilations = {1, 2, 3, 4, 1};
  int64_t attention = 128, parts = 8, squeezed = 128;
  int64_t sample_rate = 24000;  ///< Hz
};

/// The purpose that a checkpoint was trained for.
enum class Kind { kCustomVoice, kVoiceDesign, kBase };

/// Sizes and ids of a model. Plain data.
struct ModelConfig {
  Kind kind = Kind::kCustomVoice;
  std::string size;  ///< "0b6", "1b7"
  DecoderConfig talker, predictor;
  int64_t max_positions = 32768;  ///< positions of the talker
  int64_t codebooks = 16;         ///< C, number of codebooks
  int64_t talker_vocab = 0;       ///< audio codes of codebook 0, plus 1024 other ids
  int64_t code_vocab = 0;         ///< vocabulary of each other codebook
  int64_t text_vocab = 0, text_hidden = 0;
  CodecIds codec;
  TextIds text;
  std::map<std::string, int64_t> speakers;      ///< lower-case name -> id
  std::map<std::string, std::string> dialects;  ///< speaker -> native language
  std::map<std::string, int64_t> languages;     ///< lower-case name -> id
  Defaults defaults;
  SpeakerConfig speaker;  ///< used only with Kind::kBase

  /// Returns the number of audio ids: the talker's ids [0, audio_codes()). Later ids are never
  /// sampled, except the end id.
  int64_t audio_codes() const { return talker_vocab - kOtherIds; }
  /// Returns whether instructions have an effect. The published 0.6B models ignore them, and Base
  /// models were not trained with them.
  bool instructions() const { return size != "0b6" && kind != Kind::kBase; }

  static constexpr int64_t kOtherIds = 1024;
};

/// Returns whether a config.json belongs to the family.
bool claims(const Config& root);
/// Reads and checks the sizes of all networks. Throws LoadError.
ModelConfig load_model_config(const Config& root);
/// Reads the default sampling of generation_config.json.
Defaults load_defaults(const Config& c);

}  // namespace syrinx::qwen3_tts
