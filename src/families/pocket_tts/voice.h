// Voices of Pocket TTS: published KV caches of its language model (a file in embeddings/ for each
// voice), and rows that the encoder of Mimi makes of a recording. Const after construction;
// thread-safe.
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

/// The voice files in a directory's embeddings/; a file is read when its voice is first needed.
class VoiceFiles {
 public:
  /// Throws LoadError for a file that is not a voice of the model.
  VoiceFiles(const ModelConfig& config, const std::string& dir);
  std::vector<std::string> names() const;
  bool has(const std::string& name) const { return paths_.contains(name); }
  /// Returns the rows of a voice. Throws LoadError if its file can no longer be read.
  std::shared_ptr<const VoiceRows> get(const std::string& name) const;

 private:
  ModelConfig config_;
  std::map<std::string, std::string> paths_;  // paths of the files by name
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::shared_ptr<const VoiceRows>> read_;
};

/// The networks that make rows of a recording.
struct VoiceNetworks {
  MimiLatentEncoder encoder;
  PackedLinear project;  // ModelConfig::encoder.encoded -> H
};
std::unique_ptr<VoiceEncoder> make_voices(const ModelConfig& config,
                                          std::function<std::unique_ptr<VoiceNetworks>()> load);

/// Returns the rows of a voice that was made of a recording; the model's learned row before a
/// voice, if it has one, comes first. Returns an Error if this model cannot use the voice.
Result<std::shared_ptr<const VoiceRows>> rows_of(const ModelConfig& config, const FlowLm& lm,
                                                 const Voice& voice);

}  // namespace syrinx::pocket_tts
