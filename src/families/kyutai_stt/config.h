// Settings of a Kyutai recogniser in the layout of the moshi package: config.json, and the file of
// Mimi's sizes if config.json names one. Sources: moshi:moshi/models/{loaders,lm}.py. Throws
// LoadError for values that are missing, contradictory or not supported. H width of the language
// model, Q codebooks of Mimi.
#pragma once

#include <map>
#include <string>

#include "codec/mimi_config.h"
#include "families/moshi/layout.h"
#include "io/json.h"
#include "io/weights.h"
#include "nn/decoder.h"

namespace syrinx::kyutai_stt {

struct ModelConfig {
  DecoderConfig lm;         ///< its window is the config's `context`
  MimiConfig mimi;          ///< its codebooks are the Q that the model hears
  int64_t card = 2048;      ///< codes per codebook; the code `card` stands before the recording
  int64_t text_in = 8000;   ///< ids that the model reads; the id `text_in` stands before the text
  int64_t text_out = 8000;  ///< ids that the model writes
  int32_t pad = 3;          ///< id of a frame without text; ids above it are text
  int32_t word_end = 0;     ///< id that stands between two words
  bool biased = false;      ///< whether the head of the text has a bias
  int64_t turn_heads = 0, turn_width = 6;  ///< number and width of the heads that hear pauses
  double silence_s = 1;                    ///< silence before the recording, in seconds
  double delay_s = 0.5;                    ///< seconds by which the text lags behind the sound
  moshi::Files files;

  double frame_s() const { return double(mimi.hop()) / double(mimi.sample_rate); }
  /// Returns the frames of silence before the recording, at least 1: the code `card` replaces the
  /// first one (delayed-streams-modeling:scripts/stt_from_file_pytorch.py).
  int64_t frames_before() const;
  /// Returns the frames of silence after the recording: the delay and half a second
  /// (delayed-streams-modeling:scripts/stt_evaluate_on_dataset.py).
  int64_t frames_after() const;
};

/// Returns whether a config belongs to a recogniser of the moshi package.
bool claims(const Config& root);
/// Reads config.json, and the file of Mimi's sizes in `dir` if config.json names one.
ModelConfig load_model_config(const Config& root, const std::string& dir);

/// Opens the file of the language model under the names that the networks use.
std::unique_ptr<WeightSource> open_lm(const ModelConfig& config, const std::string& path);

}  // namespace syrinx::kyutai_stt
