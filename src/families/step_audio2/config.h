// Settings in the files of a Step-Audio-2-mini: config.json of language model and audio encoder,
// token2wav/flow.yaml, the sizes of token2wav/hift.pt, and the ids of the tokens in prompts and
// answers. Plain data, checked when read. Throws LoadError for values that are missing,
// contradictory or not supported.
#pragma once

#include <string>

#include "codec/hift.h"
#include "codec/s3_flow_config.h"
#include "codec/step_audio_encoder.h"
#include "families/llm/config.h"
#include "io/weights.h"

namespace syrinx::step_audio2 {

/// Name of the folder with the networks that turn codes into samples.
inline constexpr const char* kDecoderFolder = "token2wav";

/// Ids of the vocabulary with a special meaning.
struct Ids {
  int32_t turn = 0, turn_end = 0;  ///< <|BOT|> <|EOT|>
  int32_t audio_start = 0, audio_end = 0, audio_patch = 0;
  int32_t tts_start = 0, tts_end = 0, tts_pad = 0;
  int32_t audio = 0;     ///< id of code 0; ids of the other codes follow
  int32_t code_end = 0;  ///< first id after the codes: that of the padding
  bool is_code(int32_t id) const { return audio <= id && id < code_end; }
};

/// Sizes of the networks. Plain data.
struct ModelConfig {
  llm::ModelConfig lm;
  StepAudioEncoderConfig hearing;
  S3FlowConfig flow;
  HiftConfig hift;
};

/// Returns whether a config.json belongs to the family.
bool claims(const Config& root);
/// Reads the sizes of the language model and the encoder.
ModelConfig load_config(const Config& root);
/// Reads flow.yaml at `path`.
S3FlowConfig load_flow_config(const std::string& path);
/// Reads the sizes from the shapes in hift.pt, because no file states them.
HiftConfig load_hift_sizes(const Weights& weights, const S3FlowConfig& flow);
/// Loads the folder's tokenizer. Marks all tokens that control prompts and answers as special,
/// whatever its files state, so that a client's text cannot contain them. The tags of calls are not
/// special. `codes`: the number of codes of the flow.
Tokenizer load_tokenizer(const std::string& dir, int64_t codes);
/// Finds the ids of control tokens and the range of codes. Throws LoadError.
Ids load_ids(const Tokenizer& tokenizer, int64_t codes);

}  // namespace syrinx::step_audio2
