// Sizes of a Bagpiper checkpoint. ESPnet publishes weights without a config. The backbone's sizes
// are in the config.json of Qwen3-8B-Base, which must lie beside the weights; the layout of the
// vocabulary is fixed in ESPnet's program; the rest follows from the tensors. Plain data, checked
// when read. Throws LoadError for values that are missing, contradictory or not supported.
// Source: espnet:espnet2/speechlm/model/speechlm/speechlm_job.py.
#pragma once

#include <cstdint>

#include "codec/qwen3_audio_tower.h"
#include "io/json.h"
#include "io/weights.h"
#include "model/delay.h"
#include "nn/decoder.h"

namespace syrinx::bagpiper {

/// Ids that are neither text nor codes.
enum Control : int32_t {
  kPad = 0,
  kBegin = 1,
  kEnd = 2,      ///< end of a turn
  kEndPart = 3,  ///< end of a part, if the next part has the same role
  kSystem = 4,
  kUser = 5,
  kAssistant = 6,
  kText = 7,  ///< the kind of a part, before the part's rows
  kAudio = 8,
};

/// A step has S streams. Stream 0 is a control id, text, or a code of the first codebook; the other
/// streams are pads or codes. Every stream of codes has one more id than codes: its own pad.
struct ModelConfig {
  DecoderConfig lm;
  int64_t max_positions = 0;
  int64_t words = 0;                  ///< number of text ids
  int64_t streams = 8, codes = 1024;  ///< S; V of each stream
  Qwen3AudioConfig audio;

  static constexpr int32_t kFirstWord = 256;
  static constexpr int64_t kMostStreams = 64;
  /// Returns the id of a stream's pad; the ids of its codes follow.
  int32_t first_code(int64_t stream) const {
    return static_cast<int32_t>(kFirstWord + words + stream * (codes + 1));
  }
  /// Returns the number of rows of the one table and the one head.
  int64_t vocab() const { return first_code(streams); }
  /// Returns the number of ids that a stream's logits stand for: for stream 0 all ids up to its
  /// last code; for another stream kPad, then its own ids.
  int64_t choices(int64_t stream) const { return stream == 0 ? first_code(1) : codes + 2; }
  int32_t id_of(int64_t stream, int32_t choice) const {
    return stream == 0 || choice == kPad ? choice : first_code(stream) + choice - 1;
  }
  /// Returns the code of a choice; a pad in place of a code becomes the first code.
  int32_t code_of(int64_t stream, int32_t choice) const;

  /// Returns the pattern: code s is delayed by s steps; the model also samples what fills the
  /// streams before and after.
  DelayPattern delays() const;
};

/// Reads the sizes. `root`: config.json; `weights`: the scope that has "model.".
ModelConfig load_model_config(const Config& root, const Weights& weights);

/// Names of parts inside that scope.
inline constexpr const char* kTowerScope = "multimodal_io_dict.continuous_audio.model.audio_tower";
inline constexpr const char* kCodecScope = "multimodal_io_dict.discrete_audio.codec_model";

}  // namespace syrinx::bagpiper
