// Voices of Chatterbox: what encoders made of reference audio, for the language model (speaker
// vector, speech tokens, a degree of emotion) and for the flow (tokens, mel, speaker vector). A
// checkpoint stores one, conds.pt; other files of the same form may lie in a folder "voices", and
// their names are the voices' names. Others are made by cloning.h and come with a request.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "codec/s3_flow.h"
#include "families/chatterbox/config.h"
#include "model/voice.h"

namespace syrinx::chatterbox {

inline constexpr const char* kDefaultVoice = "default";  ///< conds.pt
inline constexpr float kDefaultEmotion = 0.5f;           ///< of 0 to 2

struct Voice {
  std::vector<float> speaker;          ///< [ModelConfig::speaker]
  std::vector<int32_t> prompt_speech;  ///< at most a few hundred
  float emotion = kDefaultEmotion;
  Tensor rows;  ///< [R, H]: what the language model is fed first
  std::shared_ptr<const S3FlowVoice> flow;
  uint64_t key = 0;  ///< its name in the prefix cache: no other voice of the model has it
};

using Voices = std::map<std::string, Voice>;

/// Voices below `dir`; `rows` of each are left empty. Throws LoadError for what does not fit.
Voices load_voices(const std::string& dir, const ModelConfig& config, const S3Flow& flow);
/// A voice that came with a request, whose numbers may be anybody's: an Error says what does not
/// fit. `rows` are left empty.
Result<Voice> voice_of(const syrinx::Voice& data, const ModelConfig& config, const S3Flow& flow);
/// Factors of the first samples of speech: 20 ms of silence and 20 ms that rise like half a cosine,
/// against what the voice's reference leaves at the beginning.
std::vector<float> fade_in(int64_t sample_rate);
/// Voices of made-up numbers, for measuring without files.
Voices dummy_voices(const ModelConfig& config, const S3Flow& flow);

}  // namespace syrinx::chatterbox
