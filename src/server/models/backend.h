// The server's view of a model: an Engine in the program, a fake in tests. Every method is safe
// from any thread; all except submit() and prompt_tokens() return at once.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ears/recogniser.h"
#include "ears/silero.h"
#include "engine/engine.h"
#include "voices/voice_queue.h"

namespace syrinx {

/// Most numbers of a speaker embedding that a client sends.
constexpr size_t kMaxEmbedding = 8192;

/// A Service with the other functions of a model that the server needs.
class Backend : public Service {
 public:
  /// Counts the tokens of a request's prompt. May take a while for a long prompt.
  virtual Result<int64_t> prompt_tokens(const SpeechRequest& request) const;
  virtual EngineStats stats() const = 0;
  /// Returns counters since the start; null without an engine.
  virtual const EngineMetrics* metrics() const = 0;
  /// See Pipeline::remote_nodes().
  virtual std::vector<RemoteNode> remote_nodes() const { return {}; }
  /// See VoiceQueue and Pipeline::voice_of_embedding().
  virtual const VoiceEncoderInfo* voice_encoder() const { return nullptr; }
  virtual Result<uint64_t> encode_voice(Recording recording, uint64_t client, VoiceDone done);
  virtual void cancel_voice(uint64_t /*id*/) {}
  /// Returns the metrics of the encoded recordings; null if the model cannot clone a voice.
  virtual const VoiceMetrics* voice_metrics() const { return nullptr; }
  /// Returns the model's recogniser, or null. The recogniser stays usable after the backend is
  /// destroyed.
  virtual std::shared_ptr<Recogniser> recogniser() const { return nullptr; }
  virtual Result<Voice> voice_of_embedding(std::span<const float> embedding) const;
};

/// Makes a Backend of one engine. `vad` is passed to recogniser_of(); `voices`: limits of
/// encode_voice().
std::shared_ptr<Backend> make_backend(std::unique_ptr<Engine> engine,
                                      std::shared_ptr<const SileroVad> vad = nullptr,
                                      VoiceQueueLimits voices = {});

}  // namespace syrinx
