// Settings of a Kyutai recogniser in one of two layouts. The moshi package: config.json, and the
// file of Mimi's sizes if config.json names one. transformers: config.json, generation_config.json,
// preprocessor_config.json. Sources: moshi:moshi/models/{loaders,lm}.py,
// transformers:models/kyutai_speech_to_text. Throws LoadError for values that are missing,
// contradictory or not supported. H width of the language model, Q codebooks of Mimi.
#pragma once

#include <memory>
#include <string>

#include "codec/mimi_config.h"
#include "families/moshi/layout.h"
#include "io/json.h"
#include "io/weights.h"
#include "nn/decoder.h"

namespace syrinx::kyutai_stt {

struct ModelConfig {
  DecoderConfig lm;
  MimiConfig mimi;            ///< its codebooks are the Q that the model hears
  int64_t card = 2048;        ///< codes per codebook; the code `card` stands before the recording
  int64_t text_in = 8000;     ///< ids that the model reads, besides `begin`
  int64_t text_out = 8000;    ///< ids that the model writes
  int32_t begin = 8000;       ///< row of the text's table that stands before the text
  int32_t pad = 3;            ///< id of a frame without text; ids above it are text
  int32_t word_end = 0;       ///< id that stands between two words
  bool biased = false;        ///< whether the head of the text has a bias
  int64_t pause_classes = 0;  ///< classes of the head kPauseHead; 0: the model lacks this head
  double silence_s = 1;       ///< silence before the recording, in seconds
  double delay_s = 0.5;       ///< seconds by which the text lags behind the sound
  /// Whether the layout is that of transformers. All weights are in one file, and the text and the
  /// codes have one table. The code `card` stands before the first frame, not in its place.
  bool transformers = false;
  moshi::Files files;

  double frame_s() const { return double(mimi.hop()) / double(mimi.sample_rate); }
  /// Returns the frames before the recording: silence, whose first frame the code `card` replaces
  /// (delayed-streams-modeling:scripts/stt_from_file_pytorch.py); or one for this code, then
  /// silence.
  int64_t frames_before() const;
  /// Returns the frames of silence after the recording: the delay and half a second
  /// (delayed-streams-modeling:scripts/stt_evaluate_on_dataset.py); or the delay and a second, less
  /// a frame that transformers' generate() does not read.
  int64_t frames_after() const;
};

/// The number of the head that the authors' programs use. The heads predict pauses of 0.5, 1, 2 and
/// 3 s (delayed-streams-modeling:scripts/stt_from_mic_rust_server.py). The first class of a head is
/// the pause (moshi:rust/moshi-core/src/asr.rs).
inline constexpr int64_t kPauseHead = 2;

/// Returns whether a config belongs to a recogniser of the moshi package, or to one of
/// transformers.
bool claims(const Config& root);
/// Reads the settings in `dir`, whose config.json is `root`.
ModelConfig load_model_config(const Config& root, const std::string& dir);

/// Opens the file of the language model under the names that the networks use.
std::unique_ptr<WeightSource> open_lm(const ModelConfig& config, const std::string& path);

}  // namespace syrinx::kyutai_stt
