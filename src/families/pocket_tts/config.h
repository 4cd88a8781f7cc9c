// The checked contents of a model's yaml file, from the package pocket-tts. Plain data. LoadErrors
// have the file and the key. Source: pocket-tts 4.0.1, pocket_tts/utils/config.py.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "codec/mimi_config.h"
#include "nn/decoder.h"

namespace syrinx::pocket_tts {

/// The name of the yaml file, which is in the same directory as the weights.
inline constexpr const char* kMarker = "pocket_tts.yaml";

/// How the head makes a latent from noise.
enum class FlowType : uint8_t {
  kDistilled,  ///< "lsd": noise plus the network's output for one step from time 0 to time 1
  kPointwise,  ///< noise plus the network's output
  kDrifting    ///< the network's output alone
};

/// The changes of a text before it becomes ids.
struct TextRules {
  bool pad_short = false, remove_semicolons = false, end_mark = true, capital = true;
  std::vector<std::pair<std::string, std::string>> replaced;  ///< characters and their replacements
};

/// Sizes of a checkpoint, and the rules for its text. Plain data.
struct ModelConfig {
  DecoderConfig lm;
  int64_t vocab = 0;      ///< number of ids of text
  int64_t rank = 0;       ///< width of the table of ids; 0: the model's width, no projection
  int64_t condition = 0;  ///< width of the input of the heads
  bool narrowed = false;  ///< whether this input is a projection of the model's rows
  int64_t latent = 0;     ///< width of a latent; a latent is a frame
  int64_t flow_width = 0, flow_blocks = 0;
  FlowType flow = FlowType::kDistilled;
  bool voice_begins = false;  ///< whether a learned row precedes the rows of a voice
  float temperature = 0.3f, end_threshold = -4;
  int tail = -1;  ///< frames after the code for the end; negative: depends on the text's length
  TextRules text;
  MimiConfig decoder, encoder;

  static constexpr int64_t kMostPositions = 4096;  ///< bound of this program, not of the authors'
  double frame_rate() const {
    return static_cast<double>(decoder.sample_rate) / static_cast<double>(decoder.hop());
  }
  int64_t kv_width() const { return int64_t{lm.kv_heads} * lm.head_dim; }
  /// Returns how many values a position has as keys and values, in all layers.
  int64_t cache_row() const { return 2 * lm.layers * kv_width(); }
};

ModelConfig load_model_config(const std::string& path);

}  // namespace syrinx::pocket_tts
