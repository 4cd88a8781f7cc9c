// A model for C programs: its engine and its sources of voices. Several models may share a machine
// (threads and a scheduler). Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/engine.h"
#include "voices/voice_cache.h"
#include "voices/voice_queue.h"
#include "voices/voice_store.h"

namespace syrinx {

struct LoadOptions;

class LoadedModel {
 public:
  /// Loads a model on its own machine, or on the machine of `beside`. Also searches for built-in
  /// voices near the shared library. Throws LoadError.
  LoadedModel(LoadOptions options, const LoadedModel* beside);

  Engine& engine() const { return *engine_; }
  const PipelineInfo& info() const { return engine_->pipeline().info(); }
  uint32_t traits() const;

  /// Encodes the voice of a recording and waits for it.
  Result<Voice> learn(Recording recording) const;
  /// Puts the voice `name` into the request: a voice of the model, of the store, or a mix.
  Status choose_voice(const std::string& name, SpeechRequest& request);

 private:
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<VoiceQueue> voices_;  // null if the model cannot clone a voice
  std::unique_ptr<VoiceStore> store_;
  VoiceCache cache_;
};

}  // namespace syrinx
