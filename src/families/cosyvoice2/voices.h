// Stored voices of a CosyVoice2 checkpoint, in spk2info.pt: for each name, the data that the
// authors' front end computed from a reference recording. A voice has at least a speaker vector. A
// zero-shot voice also has the text and the speech tokens of its reference, for the language model,
// and tokens and mel, for the flow. A folder "voices" may have more such .pt files. Voices made by
// cloning.h come with a request.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "codec/s3_flow.h"
#include "families/cosyvoice2/config.h"

namespace syrinx::cosyvoice2 {

struct Voice {
  std::vector<int32_t> prompt_text;    ///< ids of the text of the reference
  std::vector<int32_t> prompt_speech;  ///< speech tokens that come before the new ones
  std::shared_ptr<const S3FlowVoice> flow;
};

using Voices = std::map<std::string, Voice>;

/// Loads all voices in `dir`, which may have none. Throws LoadError for data that does not fit the
/// model.
Voices load_voices(const std::string& dir, const ModelConfig& config, const S3Flow& flow);

/// Returns a voice of random numbers with a prompt of three seconds, for measurements.
Voices dummy_voices(const ModelConfig& config, const S3Flow& flow);

}  // namespace syrinx::cosyvoice2
