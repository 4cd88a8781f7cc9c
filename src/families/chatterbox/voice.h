// Voices of Chatterbox: the encoders' output for reference audio, for the language model (speaker
// vector, speech tokens, a degree of emotion) and for the flow (tokens, mel, speaker vector). A
// checkpoint has one, conds.pt. More files of the same form may be in a folder "voices"; their
// names are the voices' names. Voices made by cloning.h come with a request.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "codec/s3_flow.h"
#include "families/chatterbox/config.h"
#include "model/pipeline.h"
#include "model/voice.h"

namespace syrinx::chatterbox {

inline constexpr const char* kDefaultVoice = "default";  ///< conds.pt
inline constexpr float kDefaultEmotion = 0.5f;           ///< degree of emotion, from 0 to 2

struct Voice {
  std::vector<float> speaker;          ///< [ModelConfig::speaker]
  std::vector<int32_t> prompt_speech;  ///< speech tokens, at most a few hundred
  float emotion = kDefaultEmotion;
  Tensor rows;  ///< [R, H]: the first rows of the language model
  std::shared_ptr<const S3FlowVoice> flow;
  uint64_t key = 0;  ///< key of its rows in the prefix cache, unique among the model's voices
};

using Voices = std::map<std::string, Voice>;

/// Loads the voices in `dir`; their `rows` stay empty. Throws LoadError for unsuitable data.
Voices load_voices(const std::string& dir, const ModelConfig& config, const S3Flow& flow);
/// Reads untrusted voice data of a request: an Error names the fault. `rows` stay empty.
Result<Voice> voice_of(const syrinx::Voice& data, const ModelConfig& config, const S3Flow& flow);
/// Adds the stored voices to the facts about a model.
void add_voices(PipelineInfo& info, const Voices& voices);
/// Returns factors for the first samples of speech: 20 ms of silence, then 20 ms that rise like
/// half a cosine, to hide the rest of the voice's reference at the beginning.
std::vector<float> fade_in(int64_t sample_rate);
/// Returns voices of random numbers, for measuring without files.
Voices dummy_voices(const ModelConfig& config, const S3Flow& flow);

}  // namespace syrinx::chatterbox
