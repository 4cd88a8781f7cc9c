// Settings of a Kyutai TTS model in the layout of the moshi package: config.json, and the file of
// Mimi's sizes if config.json names one. Also the names of the language model's tensors. Sources:
// moshi:moshi/models/{loaders,lm,tts}.py. Throws LoadError for values that are missing,
// contradictory or not supported. H: width of the language model. Q: codebooks.
#pragma once

#include <string>
#include <vector>

#include "codec/mimi_config.h"
#include "families/moshi/layout.h"
#include "io/json.h"
#include "io/weights.h"
#include "nn/decoder.h"

namespace syrinx::kyutai_tts {

// Ids of the text stream (moshi:moshi/models/tts.py, TokenIds).
constexpr int32_t kNewWord = 0, kMainSpeaker = 1, kPad = 3;

/// A condition with a table of values, e.g. the scale of guidance.
struct Choice {
  std::vector<std::string> values;
  int64_t bins = 0, width = 0;  ///< rows of the table without the last one; their width
};

/// Sizes, ids and conditions of a model.
struct ModelConfig {
  DecoderConfig lm;           ///< with cross-attention; its window is the config's `context`
  DecoderConfig depth;        ///< makes the codes of a frame, one after another
  MimiConfig mimi;            ///< its codebooks are the Q that the model makes
  int64_t card = 2048;        ///< codes per codebook; the code `card` stands before the first frame
  int64_t text_in = 8000;     ///< ids that the model reads; the id `text_in` stands before the text
  int64_t text_out = 8000;    ///< ids from which the model chooses, kNewWord and kPad among them
  bool biased = false;        ///< whether heads have biases
  std::vector<int> delays;    ///< [Q] steps by which a codebook is made later than the first one
  std::vector<int> schedule;  ///< [Q] weight set of the depth decoder for each codebook
  int64_t rank = 128;         ///< width of the depth decoder's tables
  int delay = 16;             ///< steps by which audio lags behind text
  int ahead = 2;              ///< words by which the second text stream is ahead of the first
  int64_t speaker_width = 512;  ///< width of the rows of a voice
  bool positions = true;        ///< whether positions are added to the memory of voices
  float position_scale = 1;
  Choice guidance, control;
  std::string voice_ending;  ///< end of the names of voices' files, before ".safetensors"
  moshi::Files files;

  int codebooks() const { return static_cast<int>(delays.size()); }
  int sets() const;
  /// Returns the steps by which the last codebook is made later than the first one.
  int tail() const;
  /// Returns the index of a scale among the values of `guidance`; negative if it is not one.
  int guidance_index(float scale) const;
};

/// Returns whether a config belongs to a speaking model of the moshi package.
bool claims(const Config& root);
/// Reads config.json, and the file of Mimi's sizes in `dir` if config.json names one.
ModelConfig load_model_config(const Config& root, const std::string& dir);
/// Opens the file of the language model under the names that the networks use.
std::unique_ptr<WeightSource> open_lm(const ModelConfig& config, const std::string& path);

}  // namespace syrinx::kyutai_tts
