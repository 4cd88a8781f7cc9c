// Voices of Qwen3-TTS: the output of a Base checkpoint's encoders for a recording, and the part of
// a prompt that comes from a request's voice. Const after construction; thread-safe. H: width of
// the talker. C: codebooks. T: frames.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "codec/mimi_encoder.h"
#include "families/qwen3_tts/frontend.h"
#include "families/qwen3_tts/speaker_encoder.h"
#include "model/request.h"
#include "model/voice.h"

namespace syrinx::qwen3_tts {

inline constexpr const char* kInContext = "in-context";
inline constexpr const char* kXVector = "x-vector";

/// The parts of a voice that the prompt contains, checked.
struct VoicePrompt {
  VoiceChoice choice;
  std::vector<float> vector;    ///< [H], for the speaker's row if choice.by_vector is true
  std::string text;             ///< words of the recording
  std::vector<int32_t> frames;  ///< [T, C], frames of the recording; only together with text
};

/// Returns the row [H] of an id in a table [V, H] of the checkpoint.
std::vector<float> row_of_table(const View& table, int32_t id);

/// Returns the voice of a request: a named voice, data, or a mix of several voices, whose vectors
/// are averaged. `speakers`: the table [V, H] that has the rows of named speakers.
Result<VoicePrompt> voice_prompt(const ModelConfig& config, const Frontend& frontend,
                                 const View& speakers, const SpeechRequest& request);

/// Makes a voice from a client's vector [H].
Result<Voice> voice_of_vector(const ModelConfig& config, std::span<const float> vector);

/// The networks that encode a recording.
struct VoiceNetworks {
  std::unique_ptr<SpeakerEncoder> speaker;
  std::unique_ptr<MimiEncoder> codec;  ///< null if the checkpoint has no encoder of codes
};
/// Makes an encoder that turns recordings into voices: a vector, and also codes if the words are
/// given and a codec exists. `frames`: `load` also loads a codec.
std::unique_ptr<VoiceEncoder> make_voices(std::function<VoiceNetworks()> load, bool frames);

}  // namespace syrinx::qwen3_tts
