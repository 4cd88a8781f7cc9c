// Settings in the configs of a GLM-4-Voice: config.json of the language model and of the speech
// tokenizer, config.yaml of the decoder, and the ids of the tokens in prompts. Plain data, checked
// when read. Throws LoadError for values that are missing, contradictory or not supported.
#pragma once

#include <string>

#include "codec/glm_flow_config.h"
#include "codec/glm_speech_tokenizer.h"
#include "codec/hift.h"
#include "families/llm/config.h"

namespace syrinx::glm4_voice {

/// Ids of the vocabulary with a special meaning.
struct Ids {
  int32_t mask = 0, sop = 0;  ///< [gMASK] <sop>, which begin every prompt
  int32_t system = 0, user = 0, assistant = 0;
  int32_t begin_audio = 0, end_audio = 0;
  int32_t audio = 0;      ///< id of code 0; ids of the other codes follow
  int32_t audio_end = 0;  ///< first id after the codes
  bool is_audio(int32_t id) const { return audio <= id && id < audio_end; }
};

/// Sizes of the networks. Plain data.
struct ModelConfig {
  llm::ModelConfig lm;
  GlmSpeechConfig speech;
  GlmFlowConfig flow;
  HiftConfig hift;
};

/// Returns whether a config.json belongs to the family. True for all ChatGLM configs; a model
/// without speech is refused later, because it lacks the speech tokens.
bool claims(const Config& root);
/// Reads and checks the sizes of the language model. Throws LoadError.
llm::ModelConfig load_lm_config(const Config& root);
/// Reads config.yaml at `path`.
void load_decoder_config(const std::string& path, ModelConfig& config);
/// Loads the tokenizer from tokenizer.model and tokenizer_config.json.
Tokenizer load_tokenizer(const std::string& dir);
/// Finds the ids. `codes`: the number of codes of the speech tokenizer.
Ids load_ids(const Tokenizer& tokenizer, int64_t codes);

}  // namespace syrinx::glm4_voice
