// Settings of Voxtral Realtime in the layout of transformers (config.json) or Mistral's own
// (params.json, consolidated.safetensors), and the section "audio" of tekken.json. Sources:
// transformers:models/voxtral_realtime, vllm:vllm/transformers_utils/configs/mistral.py,
// mistral_common:tokens/tokenizers/audio.py. Throws LoadError for values that are missing,
// contradictory or not supported. A token stands for a stretch of the recording (80 ms); H is the
// width of the language model.
#pragma once

#include <memory>
#include <string>

#include "audio/mel.h"
#include "io/json.h"
#include "io/weights.h"
#include "nn/decoder.h"
#include "text/tokens/tekken.h"

namespace syrinx::voxtral_realtime {

struct ModelConfig {
  DecoderConfig encoder;  ///< its window is in rows of the encoder
  DecoderConfig lm;       ///< its window is in tokens
  MelOptions mel;
  int64_t vocab = 131072;
  int64_t join = 4;   ///< rows of the encoder that make a token
  int delay = 6;      ///< tokens by which the text lags behind the sound, if a request names none
  int left_pad = 32;  ///< tokens of silence before the recording
  int32_t begin = 1, end = 2, pad = 32;  ///< ids: before the text, its end, a token without text
  bool original = false;                 ///< whether the layout is Mistral's own

  /// Returns the mel frames and the samples of a token.
  int64_t mels() const { return 2 * join; }
  int64_t samples() const { return mels() * mel.hop; }
  double token_s() const {
    return static_cast<double>(samples()) / static_cast<double>(mel.sample_rate);
  }
  /// Returns the tokens of silence after the recording: the delay, one for the first id, and ten
  /// for a long word (OFFLINE_STREAMING_BUFFER_TOKENS).
  int right_pad(int delay_tokens) const { return delay_tokens + 1 + kLongestWord; }
  /// Returns the number of rows before the first id: the prompt, one id each.
  int prompt(int delay_tokens) const { return 1 + left_pad + delay_tokens; }

  static constexpr int kLongestWord = 10;  ///< tokens
  static constexpr int kMostDelay = 30;    ///< tokens: the longest delay of the training, 2.4 s
};

/// Log-mel from which the floor is counted (global_log_mel_max).
inline constexpr float kLoudest = 1.5f;
/// The config of Mistral's own layout, and its weights.
inline constexpr const char* kOriginal = "params.json";
inline constexpr const char* kOriginalWeights = "consolidated.safetensors";
/// What Mistral's text models need, which have a params.json, too.
inline constexpr const char* kNeeds =
    "Mistral's text models load in the layout of transformers: config.json and model.safetensors "
    "of the same repository";

/// Returns whether a config.json, or a params.json, belongs to Voxtral Realtime.
bool claims(const Config& root);
bool claims_original(const Config& root);
/// Reads the config in `dir`. If `dir` has both, the presence of kOriginalWeights decides.
ModelConfig load_model_config(const std::string& dir);
/// Opens the weights of Mistral's layout under the names of transformers.
std::unique_ptr<WeightSource> open_original(const ModelConfig& config, const std::string& path);
/// Reads a tokenizer's section about audio into `config`; `path` is for messages.
void read_sound(const Tekken& tekken, const std::string& path, ModelConfig& config);

}  // namespace syrinx::voxtral_realtime
