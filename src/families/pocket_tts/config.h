// What a model's yaml of the package pocket-tts says, checked. Plain data; LoadErrors name file and
// key. Source: pocket-tts 4.0.1, pocket_tts/utils/config.py.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "codec/mimi_config.h"
#include "nn/decoder.h"

namespace syrinx::pocket_tts {

/// The yaml of the package, as it lies beside the weights.
inline constexpr const char* kMarker = "pocket_tts.yaml";

/// How the head makes a latent of noise.
enum class FlowType : uint8_t {
  kDistilled,  ///< "lsd": the noise and a step from time 0 to 1
  kPointwise,  ///< the noise and what the head makes of it
  kDrifting    ///< what the head makes of it
};

/// How a text is written before it becomes ids.
struct TextRules {
  bool pad_short = false, remove_semicolons = false, end_mark = true, capital = true;
  std::vector<std::pair<std::string, std::string>> replaced;  ///< characters
};

struct ModelConfig {
  DecoderConfig lm;
  int64_t vocab = 0;      ///< ids of text
  int64_t rank = 0;       ///< width of the table of ids; 0: that of the model, without projection
  int64_t condition = 0;  ///< width of what the heads are given
  bool narrowed = false;  ///< whether that is a projection of the model's rows
  int64_t latent = 0;     ///< numbers of a frame
  int64_t flow_width = 0, flow_blocks = 0;
  FlowType flow = FlowType::kDistilled;
  bool voice_begins = false;  ///< a row of the model's own comes before a voice
  float temperature = 0.3f, end_threshold = -4;
  int tail = -1;  ///< frames after the end was said; negative: by the text's length
  TextRules text;
  MimiConfig decoder, encoder;

  static constexpr int64_t kMostPositions = 4096;  ///< the authors have no bound
  double frame_rate() const {
    return static_cast<double>(decoder.sample_rate) / static_cast<double>(decoder.hop());
  }
  int64_t kv_width() const { return int64_t{lm.kv_heads} * lm.head_dim; }
  /// Keys and values of one position in all layers.
  int64_t cache_row() const { return 2 * lm.layers * kv_width(); }
};

ModelConfig load_model_config(const std::string& path);

}  // namespace syrinx::pocket_tts
