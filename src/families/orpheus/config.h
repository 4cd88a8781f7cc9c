// Settings of an Orpheus checkpoint: those of a plain Llama in any layout (families/llm), and the
// ids of the tokens <custom_token_N> at the end of its vocabulary. Throws LoadError for values that
// are missing, contradictory or not supported.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "families/llm/config.h"
#include "families/orpheus/editions.h"
#include "io/gguf.h"
#include "io/json.h"

namespace syrinx::orpheus {

/// Number of tokens of a frame, in the order of their steps. Each has its own block of ids.
inline constexpr int kFrameTokens = 7;
/// Number of the codec's latent frames for each frame of tokens.
inline constexpr int kFrameLatents = 4;
/// Number of codes of a latent frame: one for each of SNAC's three quantizers.
inline constexpr int kQuantizers = 3;

/// The token of code 0 at the first place of a frame.
inline constexpr const char* kFirstCode = "<custom_token_10>";

/// Sizes and ids of a model. Plain data.
struct ModelConfig : llm::ModelConfig {
  int64_t block = 0;  ///< number of ids of a block: one for each code of a quantizer
  /// Id of kSpeechEnd: the first id for which the head has a logit. The sampler counts ids from it.
  int32_t end_of_speech = 0;
  int32_t first_code = 0;                         ///< id of kFirstCode
  std::vector<int32_t> before = {}, behind = {};  ///< ids around the voice and text of a prompt

  int32_t audio_ids() const { return block_begin(kFrameTokens); }
  /// Returns the first id of the block of token `place` of a frame, counted from end_of_speech.
  int32_t block_begin(int place) const {
    return static_cast<int32_t>(first_code - end_of_speech + place * block);
  }
};

/// Returns whether a config.json belongs to the family: a Llama whose vocabulary is Llama 3's,
/// followed by the tokens of Orpheus.
bool claims(const Config& root);
/// Returns whether a GGUF file has a Llama with the tokens of Orpheus.
bool claims_file(const GgufFile& file);
/// Returns the config for a Llama, with the positions of Orpheus' training and the ids of an
/// edition's tokens. `block`: codes of a quantizer. `where`: name of the config's file. Throws
/// LoadError for a missing token, and unless ids and blocks are in order and within the vocabulary.
ModelConfig config_of(const llm::ModelConfig& llama, const Tokenizer& tokenizer,
                      const Edition& edition, int64_t block, const std::string& where);

}  // namespace syrinx::orpheus
