// Stored voices of a CosyVoice2 checkpoint, spk2info.pt: for each name what its authors' front end
// computed from reference audio once. A voice has at least a speaker vector; a zero-shot voice also
// has the text and the speech tokens of its reference, for the language model, and tokens and mel,
// for the flow. Other .pt files of the same form may lie in a folder "voices" beside it. Voices may
// also be made by cloning.h and come with a request.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "codec/s3_flow.h"
#include "families/cosyvoice2/config.h"

namespace syrinx::cosyvoice2 {

struct Voice {
  std::vector<int32_t> prompt_text;    ///< ids
  std::vector<int32_t> prompt_speech;  ///< speech tokens before the ones to come
  std::shared_ptr<const S3FlowVoice> flow;
};

using Voices = std::map<std::string, Voice>;

/// All voices below `dir`; none is fine. Throws LoadError for what does not fit the model.
Voices load_voices(const std::string& dir, const ModelConfig& config, const S3Flow& flow);

/// A voice of random numbers with three seconds of prompt, for measuring.
Voices dummy_voices(const ModelConfig& config, const S3Flow& flow);

}  // namespace syrinx::cosyvoice2
