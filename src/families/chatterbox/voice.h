// The stored voice of a Chatterbox checkpoint, conds.pt: what the authors' encoders made of
// reference audio once, for the language model (speaker vector, speech tokens, a degree of emotion)
// and for the flow (tokens, mel, speaker vector). Other files of the same form may lie in a folder
// "voices"; their names are the voices' names.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "codec/s3_flow.h"
#include "families/chatterbox/config.h"

namespace syrinx::chatterbox {

struct Voice {
  std::vector<float> speaker;          ///< [ModelConfig::speaker]
  std::vector<int32_t> prompt_speech;  ///< at most a few hundred
  float emotion = 0.5f;
  Tensor rows;  ///< [2 + queries, H]: what the language model is fed first
  std::shared_ptr<const S3FlowVoice> flow;
};

using Voices = std::map<std::string, Voice>;

/// Voices below `dir`; `rows` of each are left empty. Throws LoadError for what does not fit.
Voices load_voices(const std::string& dir, const ModelConfig& config, const S3Flow& flow);
Voices dummy_voices(const ModelConfig& config, const S3Flow& flow);

}  // namespace syrinx::chatterbox
