// Settings of an Orpheus checkpoint: those of a plain Llama in any layout (families/llm), and the
// ids of the tokens <custom_token_N> at the end of its vocabulary. Throws LoadError for values that
// are missing, contradictory or not supported.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "families/llm/config.h"
#include "io/gguf.h"
#include "io/json.h"
#include "text/tokens/tokenizer.h"

namespace syrinx::orpheus {

/// Number of tokens of a frame, in the order of their steps. Each has its own block of ids.
inline constexpr int kFrameTokens = 7;
/// Number of the codec's latent frames for each frame of tokens.
inline constexpr int kFrameLatents = 4;
/// Number of codes of a latent frame: one for each of SNAC's three quantizers.
inline constexpr int kQuantizers = 3;

/// The token of code 0 at the first place of a frame.
inline constexpr std::string_view kFirstCode = "<custom_token_10>";

/// Special ids, which are not codes.
struct TokenIds {
  int32_t begin_of_text = 0;    ///< <|begin_of_text|>, which the tokenizer puts before the text
  int32_t end_of_text = 0;      ///< <|eot_id|>, the end of a turn
  int32_t start_of_human = 0;   ///< <custom_token_3>
  int32_t end_of_human = 0;     ///< <custom_token_4>
  int32_t start_of_ai = 0;      ///< <custom_token_5>
  int32_t start_of_speech = 0;  ///< <custom_token_1>
  int32_t end_of_speech = 0;    ///< <custom_token_2>
  int32_t first_code = 0;       ///< <custom_token_10>
  int32_t audio = 0;            ///< <|audio|>; 0: not in the vocabulary
};

/// Sizes and ids of a model. Plain data.
struct ModelConfig : llm::ModelConfig {
  int64_t block = 4096;  ///< number of ids of a block: one for each code of a quantizer
  TokenIds ids = {};

  /// Returns the first id for which the head has a logit. The sampler counts ids from this id.
  int32_t audio_begin() const { return ids.end_of_speech; }
  int32_t audio_ids() const {
    return static_cast<int32_t>(ids.first_code - audio_begin() + kFrameTokens * block);
  }
  /// Returns the first id of the block of token `place` of a frame, counted from audio_begin().
  int32_t block_begin(int place) const {
    return static_cast<int32_t>(ids.first_code - audio_begin() + place * block);
  }
};

/// Returns whether a config.json belongs to the family: a Llama whose vocabulary is Llama 3's,
/// followed by the tokens of Orpheus.
bool claims(const Config& root);
/// Returns whether a GGUF file has a Llama with the tokens of Orpheus.
bool claims_file(const GgufFile& file);
/// Returns the config for a Llama, with the positions of Orpheus' training.
ModelConfig config_of(const llm::ModelConfig& llama);
/// Looks up the ids of the tokens by their names.
TokenIds load_ids(const Tokenizer& tokenizer);
/// Returns the ids of the published checkpoints. For random weights without a tokenizer.
TokenIds published_ids();
/// Throws LoadError unless ids and blocks are in order and within the vocabulary.
void check_ids(const ModelConfig& config, const std::string& where);

}  // namespace syrinx::orpheus
