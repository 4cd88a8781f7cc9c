// A pipeline: what a model family turns a request into, a graph of networks. Const after load;
// thread-safe.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/graph.h"
#include "model/request.h"

namespace syrinx {

/// A voice that a model brings.
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
  bool speaks = true;   ///< answers with audio
  bool writes = false;  ///< answers with text, and takes a chat
  /// Of one that speaks and writes: it answers chats aloud, and hears (hears_s) the turns of a
  /// conversation; else it reads texts aloud, answers in words and writes down what it hears alone.
  bool converses = true;
  int sample_rate = 24000;   ///< Hz, mono
  double frame_rate = 12.5;  ///< frames a second
  std::vector<VoiceInfo> voices;
  std::string default_voice;
  std::vector<std::string> languages;
  LateText late_text = LateText::kNone;
  bool instructions = false;
  bool context = false;  ///< hears earlier turns of a conversation
  /// Recordings that it hears in a chat: their length together at most, in seconds; 0: none.
  double hears_s = 0;
  bool hears_first_channel = false;  ///< of several; false: their mean
  /// Stretches of a recording that stay as they were heard when more of it comes, so that it may be
  /// heard while it is spoken. Nothing: only what has ended can be heard.
  struct Stretches {
    double each_s = 0;
    double anew_s = 0;  ///< they begin anew after so much; 0: never
    /// Of which this much more must be there.
    static constexpr double kAhead_s = 0.02;
  };
  std::optional<Stretches> hears_ahead = {};
  bool calls_tools = false;  ///< can be made to call a tool: Chat::must_call
  bool writes_json = false;  ///< can be made to write JSON of a schema: Chat::schema
  /// Of one that writes: tokens of a prompt and its answer together, at most; 0: not told.
  int64_t positions = 0;
  bool recalls = false;  ///< takes its earlier answers as it made them: SpeechRequest::answers
  /// Recordings that it writes down (Pipeline::dictation()): their length at most; 0: it does not.
  double dictates_s = 0;
  bool word_times = false, phone_times = false;
  bool mixes = false;  ///< speaks with several voices mixed by weight
  // What of SpeechRequest the model has:
  bool flow = false, exaggeration = false, spells_numbers = false;
  bool inner = false;       ///< inner_temperature and its like
  int speaker_numbers = 0;  ///< `speaker` is below this; 0: it has no such thing
  /// Bounds of SpeechRequest::speed; past them the audio is stretched.
  float slowest = 1, fastest = 1;
  float lowest = 0, highest = 0;  ///< bounds of SpeechRequest::pitch
  bool phones = false;            ///< says the phones of sayings and lexicons
  bool accents = false;           ///< says strong words with an accent
  /// Why voice_encoder() is null, for people, e.g. "campplus.onnx is missing".
  std::string no_cloning = "this model's voices are fixed";
  size_t max_text_bytes = 200'000;
  std::vector<PartInfo> parts;
};

/// What a request is made of: a sequence for each AR node of the graph, in their order; null where
/// it does not open the node, nor then the chunk nodes behind it: text alone needs no talker.
struct Opened {
  std::vector<std::unique_ptr<Sequence>> sequences;
  /// Samples that the client's edge carries to a chunk node: whole frames, all of them at once.
  std::vector<float> samples = {};

  Opened() = default;
  template <typename S>
  requires std::derived_from<S, Sequence> Opened(
      std::unique_ptr<S> only) {  // NOLINT(google-explicit-constructor)
    sequences.push_back(std::move(only));
  }
  /// The only one, or the first.
  Sequence& sequence() const { return *sequences.front(); }
  /// Takes it.
  std::unique_ptr<Sequence> only() { return std::move(sequences.front()); }
};

/// A node whose stage runs in another process, and how the link to that has done so far.
struct RemoteNode {
  std::string node;
  std::string where;
  bool up = false;
  std::string trouble;  ///< why it is down
  uint64_t connections = 0, batches = 0, lost_batches = 0, sent_bytes = 0, received_bytes = 0;
};

/// A stretch of a recording that is to be written down.
struct Dictation {
  std::shared_ptr<const Recording> recording;
  std::string language = {};  ///< in English ("German"), where it is known
};

class Pipeline {
 public:
  virtual ~Pipeline() = default;
  virtual const PipelineInfo& info() const = 0;
  /// Constant.
  virtual const Graph& graph() const = 0;
  /// Checks a request and makes its prompts. Any thread. What PipelineInfo says the model cannot do
  /// has been refused before (check_request), and its language is as the model names it
  /// (read_language).
  virtual Result<Opened> open(const SpeechRequest&) const = 0;

  /// The request that writes a recording down, greedily, where PipelineInfo::dictates_s says so.
  virtual Result<SpeechRequest> dictation(const Dictation& dictation) const;
  /// What of the answer to that is what was said.
  virtual std::string dictated(std::string_view answer) const { return std::string(answer); }

  /// What makes voices of recordings; null where the model or its checkpoint has none.
  virtual const VoiceEncoder* voice_encoder() const { return nullptr; }
  /// Those of the graph's nodes that run in other processes, as they are now.
  virtual std::vector<RemoteNode> remote_nodes() const { return {}; }
  /// A voice of a speaker's embedding that a user brings. kUnsupported where there is no such
  /// thing.
  virtual Result<Voice> voice_of_embedding(std::span<const float> embedding) const;
};

/// Holds a request against what the model says of itself: the length of its text, voices, mixes,
/// speed, language, earlier turns, chats.
Status check_request(const PipelineInfo& info, const SpeechRequest& request);

}  // namespace syrinx
