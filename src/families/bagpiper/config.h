// Sizes of a Bagpiper checkpoint. ESPnet publishes weights without a config. The backbone's sizes
// are in the config.json of Qwen3-8B-Base, which must be in the same folder. ESPnet's program fixes
// the layout of the vocabulary. All other sizes follow from the tensors. Plain data, checked when
// read. Throws LoadError for values that are missing, contradictory or not supported. Source:
// espnet:espnet2/speechlm/model/speechlm/speechlm_job.py.
#pragma once

#include <cstdint>

#include "codec/qwen3_audio_tower.h"
#include "io/json.h"
#include "io/weights.h"
#include "model/delay.h"
#include "nn/decoder.h"

namespace syrinx::bagpiper {

/// Special ids, which are neither text nor codes.
enum Control : int32_t {
  kPad = 0,
  kBegin = 1,
  kEnd = 2,      ///< end of a turn
  kEndPart = 3,  ///< end of a part, if the next part has the same role
  kSystem = 4,
  kUser = 5,
  kAssistant = 6,
  kText = 7,  ///< kind of a part; comes before the part's rows
  kAudio = 8,
};

/// Sizes of a model. A step has S streams. Stream 0 has a control id, text, or a code of the first
/// codebook. The others have pads or codes. Every stream of codes has one extra id: its own pad.
struct ModelConfig {
  DecoderConfig lm;
  int64_t max_positions = 0;
  int64_t words = 0;                  ///< number of ids of text
  int64_t streams = 8, codes = 1024;  ///< S: number of streams; V: number of codes in a stream
  Qwen3AudioConfig audio;

  static constexpr int32_t kFirstWord = 256;
  static constexpr int64_t kMostStreams = 64;
  /// Returns the id of a stream's pad. The ids of the stream's codes follow it.
  int32_t first_code(int64_t stream) const {
    return static_cast<int32_t>(kFirstWord + words + stream * (codes + 1));
  }
  /// Returns the number of rows of the single table, and of the single head.
  int64_t vocab() const { return first_code(streams); }
  /// Returns the number of ids in a stream's logits. Stream 0 has all ids up to its last code.
  /// Another stream has kPad, then its own ids.
  int64_t choices(int64_t stream) const { return stream == 0 ? first_code(1) : codes + 2; }
  int32_t id_of(int64_t stream, int32_t choice) const {
    return stream == 0 || choice == kPad ? choice : first_code(stream) + choice - 1;
  }
  /// Returns the code of a choice. A pad in place of a code becomes the first code.
  int32_t code_of(int64_t stream, int32_t choice) const;

  /// Returns the pattern, in which code s is delayed by s steps. The model itself samples the ids
  /// that fill a stream before and after its codes.
  DelayPattern delays() const;
};

/// Reads the sizes. `root`: config.json. `weights`: the scope that contains "model.".
ModelConfig load_model_config(const Config& root, const Weights& weights);

/// Names of parts in the scope `weights` of load_model_config().
inline constexpr const char* kTowerScope = "multimodal_io_dict.continuous_audio.model.audio_tower";
inline constexpr const char* kCodecScope = "multimodal_io_dict.discrete_audio.codec_model";

}  // namespace syrinx::bagpiper
