// Voices of Pocket TTS: published KV caches of its language model (a file in embeddings/ for each
// voice), and rows that the encoder of Mimi makes from a recording. Const after construction;
// thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "codec/mimi_encoder.h"
#include "families/loading/voice_files.h"
#include "families/pocket_tts/flow_lm.h"
#include "model/voice.h"

namespace syrinx::pocket_tts {

/// Returns the voices in the folder embeddings/ of a directory. Throws LoadError for a file that is
/// not a voice of the model.
std::unique_ptr<VoiceFiles<VoiceRows>> open_voices(const ModelConfig& config,
                                                   const std::string& dir);

/// The networks that make rows from a recording.
struct VoiceNetworks {
  MimiLatentEncoder encoder;
  PackedLinear project;  // ModelConfig::encoder.encoded -> H
};
std::unique_ptr<VoiceEncoder> make_voices(const ModelConfig& config,
                                          std::function<std::unique_ptr<VoiceNetworks>()> load);

/// Returns the rows of a voice made from a recording. A learned row for the beginning of a voice
/// comes first if the model has one. Returns an Error if this model cannot use the voice.
Result<std::shared_ptr<const VoiceRows>> rows_of(const ModelConfig& config, const FlowLm& lm,
                                                 const Voice& voice);

}  // namespace syrinx::pocket_tts
