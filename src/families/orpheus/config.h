// Settings of an Orpheus checkpoint: those of a plain Llama in any layout (families/llm), and the
// ids of the tokens <custom_token_N> at the end of its vocabulary. Throws LoadError for values that
// are missing, contradictory or not supported.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

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

/// A token that is not a code.
struct Token {
  const char* name;
  /// Id in the checkpoints of the first edition, for random weights without a tokenizer. 0: a
  /// tokenizer may lack the token, which then has the id 0.
  int32_t published = 0;
};
inline constexpr Token kBegin{"<|begin_of_text|>", 128000};  ///< precedes a text in the tokenizer
inline constexpr Token kTurnEnd{"<|eot_id|>", 128009};
inline constexpr Token kSpeech{"<custom_token_1>", 128257}, kSpeechEnd{"<custom_token_2>", 128258};
inline constexpr Token kHuman{"<custom_token_3>", 128259}, kHumanEnd{"<custom_token_4>", 128260};
inline constexpr Token kAi{"<custom_token_5>", 128261}, kAudio{"<|audio|>"};
/// The token of code 0 at the first place of a frame.
inline constexpr Token kFirstCode{"<custom_token_10>", 128266};

/// Sizes and ids of a model. Plain data.
struct ModelConfig : llm::ModelConfig {
  int64_t block = 4096;  ///< number of ids of a block: one for each code of a quantizer
  int32_t end_of_speech = 0, first_code = 0;      ///< ids of kSpeechEnd and kFirstCode
  std::vector<int32_t> before = {}, behind = {};  ///< ids around the voice and text of a prompt

  /// Returns the first id for which the head has a logit. The sampler counts ids from this id.
  int32_t audio_begin() const { return end_of_speech; }
  int32_t audio_ids() const {
    return static_cast<int32_t>(first_code - audio_begin() + kFrameTokens * block);
  }
  /// Returns the first id of the block of token `place` of a frame, counted from audio_begin().
  int32_t block_begin(int place) const {
    return static_cast<int32_t>(first_code - audio_begin() + place * block);
  }
};

/// Returns whether a config.json belongs to the family: a Llama whose vocabulary is Llama 3's,
/// followed by the tokens of Orpheus.
bool claims(const Config& root);
/// Returns whether a GGUF file has a Llama with the tokens of Orpheus.
bool claims_file(const GgufFile& file);
/// Returns the config for a Llama, with the positions of Orpheus' training.
ModelConfig config_of(const llm::ModelConfig& llama);
/// Sets the ids. `before`, `behind`: the tokens around a prompt. `tokenizer` is null for random
/// weights without one. Throws LoadError for a missing token, and unless ids and blocks are in
/// order and within the vocabulary. `where`: name of the config's file.
void load_ids(const Tokenizer* tokenizer, std::span<const Token> before,
              std::span<const Token> behind, const std::string& where, ModelConfig& config);

}  // namespace syrinx::orpheus
