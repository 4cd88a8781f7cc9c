// Sizes of a Bagpiper checkpoint. ESPnet publishes weights without a config: the backbone's sizes
// are those of the config.json of Qwen3-8B-Base, which lies beside the weights; the layout of the
// vocabulary is that of ESPnet's program; the rest is read off the tensors. Plain data, checked
// when read. Throws LoadError for values that are missing, contradictory or not supported. Source:
// espnet:espnet2/speechlm/model/speechlm/speechlm_job.py.
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
  kEnd = 2,      ///< of a turn
  kEndPart = 3,  ///< of a part behind which the same role goes on
  kSystem = 4,
  kUser = 5,
  kAssistant = 6,
  kText = 7,  ///< the kind of a part: it stands before it
  kAudio = 8,
};

/// A step has S streams. Stream 0 is a control id, text, or codes of the first codebook; the others
/// are pads, or codes. Every stream of codes has one slot more than codes, its own pad.
struct ModelConfig {
  DecoderConfig lm;
  int64_t max_positions = 0;
  int64_t words = 0;                  ///< ids of text
  int64_t streams = 8, codes = 1024;  ///< S; V of each stream
  Qwen3AudioConfig audio;

  static constexpr int32_t kFirstWord = 256;
  static constexpr int64_t kMostStreams = 64;
  /// The id of the pad of a stream; its codes follow.
  int32_t first_code(int64_t stream) const {
    return static_cast<int32_t>(kFirstWord + words + stream * (codes + 1));
  }
  /// Rows of the one table and the one head.
  int64_t vocab() const { return first_code(streams); }
  /// The ids that a stream's logits stand for: for stream 0 all ids up to its last code; for the
  /// others kPad, then their own slots.
  int64_t choices(int64_t stream) const { return stream == 0 ? first_code(1) : codes + 2; }
  int32_t id_of(int64_t stream, int32_t choice) const {
    return stream == 0 || choice == kPad ? choice : first_code(stream) + choice - 1;
  }
  /// The code of a choice; a pad where a code belongs is the first code.
  int32_t code_of(int64_t stream, int32_t choice) const;

  /// Code s comes s steps late; what is before and behind is the model's.
  DelayPattern delays() const;
};

/// `root`: config.json; `weights`: the scope that holds "model.".
ModelConfig load_model_config(const Config& root, const Weights& weights);

/// Names below the scope.
inline constexpr const char* kTowerScope = "multimodal_io_dict.continuous_audio.model.audio_tower";
inline constexpr const char* kCodecScope = "multimodal_io_dict.discrete_audio.codec_model";

}  // namespace syrinx::bagpiper
