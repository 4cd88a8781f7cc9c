// Voices of Pocket TTS: the caches of its language model as the authors publish them (files in
// embeddings/, one of each voice), and rows made of a recording by the encoder of Mimi. Const after
// construction; thread-safe.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "codec/mimi_encoder.h"
#include "families/pocket_tts/flow_lm.h"
#include "model/voice.h"

namespace syrinx::pocket_tts {

/// The files of a directory's embeddings/, read when a voice is first asked for.
class VoiceFiles {
 public:
  /// Throws LoadError for a file that is not a voice of the model.
  VoiceFiles(const ModelConfig& config, const std::string& dir);
  std::vector<std::string> names() const;
  bool has(const std::string& name) const { return paths_.contains(name); }
  /// Throws LoadError where the file cannot be read any more.
  std::shared_ptr<const VoiceRows> get(const std::string& name) const;

 private:
  ModelConfig config_;
  std::map<std::string, std::string> paths_;  // by name
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::shared_ptr<const VoiceRows>> read_;
};

/// What makes rows of a recording.
struct VoiceNetworks {
  MimiLatentEncoder encoder;
  PackedLinear project;  // ModelConfig::encoder.encoded -> H
};
std::unique_ptr<VoiceEncoder> make_voices(const ModelConfig& config,
                                          std::function<std::unique_ptr<VoiceNetworks>()> load);

/// The rows of a recording's voice behind those that come before any voice, or why it cannot be
/// used by this model.
Result<std::shared_ptr<const VoiceRows>> rows_of(const ModelConfig& config, const FlowLm& lm,
                                                 const Voice& voice);

}  // namespace syrinx::pocket_tts
