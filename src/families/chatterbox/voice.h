// Voices of Chatterbox: the encoders' output for a reference recording. The language model uses
// speaker vector, speech tokens and a degree of emotion. The flow uses tokens, mel and speaker
// vector. A checkpoint has one voice, conds.pt. A folder "voices" may have more such files, named
// after their voices. Voices from cloning.h come with a request.
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

inline constexpr const char* kDefaultVoice = "default";  ///< name of the voice in conds.pt
inline constexpr float kDefaultEmotion = 0.5f;           ///< degree of emotion, from 0 to 2

struct Voice {
  std::vector<float> speaker;          ///< [ModelConfig::speaker]
  std::vector<int32_t> prompt_speech;  ///< speech tokens; at most a few hundred
  float emotion = kDefaultEmotion;
  Tensor rows;  ///< [R, H], first rows of the language model
  std::shared_ptr<const S3FlowVoice> flow;
  uint64_t key = 0;  ///< key of `rows` in the prefix cache, unique among the model's voices
};

using Voices = std::map<std::string, Voice>;

/// Loads the voices in `dir`. Their `rows` stay empty. Throws LoadError for data that does not fit.
Voices load_voices(const std::string& dir, const ModelConfig& config, const S3Flow& flow);
/// Reads untrusted voice data of a request. An Error names the fault. `rows` stays empty.
Result<Voice> voice_of(const syrinx::Voice& data, const ModelConfig& config, const S3Flow& flow);
/// Adds the stored voices to the facts about a model.
void add_voices(PipelineInfo& info, const Voices& voices);
/// Returns factors for the first samples of speech: 20 ms of silence, then 20 ms that rise like
/// half a cosine. They hide the end of the voice's reference, which may sound at the beginning.
std::vector<float> fade_in(int64_t sample_rate);
/// Returns voices of random numbers, for measurements without files.
Voices dummy_voices(const ModelConfig& config, const S3Flow& flow);

}  // namespace syrinx::chatterbox
