// A pipeline: what a model family turns a request into. One AR stage, then a chain of chunk stages,
// each fed through a link. Const after load; thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/request.h"
#include "model/stage.h"

namespace syrinx {

/// How a link cuts a stream into chunks; in frames of the stage that it feeds.
struct ChunkPolicy {
  int initial = 1;    ///< fresh frames of the first chunk: decides the time to first audio
  int steady = 8;     ///< fresh frames of every later chunk
  int left = 0;       ///< frames seen again before the fresh ones
  int lookahead = 0;  ///< frames that must exist after the fresh ones, unless the stream ended
  int multiple = 1;   ///< fresh frames come in multiples of this, except at the end of the stream
};

/// Feeds a chunk stage from the stage before it.
struct Link {
  std::string name;
  const ChunkStage* stage = nullptr;
  ChunkPolicy policy;
};

struct VoiceInfo {
  std::string id;
  std::string description;
};

/// How text that arrives late is taken.
enum class LateText { kNone, kSentence, kToken };

/// A part of a model for `inspect`: what it is and what it costs.
struct PartInfo {
  std::string name;
  std::string shape;
  size_t bytes = 0;
};

/// Facts about a loaded model.
struct PipelineInfo {
  std::string family;
  std::string model;  ///< the name that clients ask for
  std::string licence;
  int sample_rate = 24000;   ///< Hz, mono
  double frame_rate = 12.5;  ///< frames a second
  std::vector<VoiceInfo> voices;
  std::string default_voice;
  std::vector<std::string> languages;
  LateText late_text = LateText::kNone;
  bool instructions = false;
  bool context = false;  ///< hears earlier turns of a conversation
  bool word_times = false, phone_times = false;
  bool mixes = false;  ///< speaks with several voices mixed by weight
  /// Bounds of SpeechRequest::speed; past them the audio is stretched.
  float slowest = 1, fastest = 1;
  /// Why voice_encoder() is null, for people, e.g. "campplus.onnx is missing".
  std::string no_cloning = "this model's voices are fixed";
  size_t max_text_bytes = 200'000;
  std::vector<PartInfo> parts;
};

class Pipeline {
 public:
  virtual ~Pipeline() = default;
  virtual const PipelineInfo& info() const = 0;
  virtual const ArStage& ar() const = 0;
  /// In order of flow; the last one yields samples. Constant.
  virtual std::span<const Link> links() const = 0;
  /// Checks a request and makes its prompt. Any thread.
  virtual Result<std::unique_ptr<Sequence>> open(const SpeechRequest&) const = 0;

  /// What makes voices of recordings; null where the model or its checkpoint has none.
  virtual const VoiceEncoder* voice_encoder() const { return nullptr; }
  /// A voice of a speaker's embedding that a user brings. kUnsupported where there is no such thing.
  virtual Result<Voice> voice_of_embedding(std::span<const float> embedding) const;
};

}  // namespace syrinx
