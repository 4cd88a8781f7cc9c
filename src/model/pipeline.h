// A pipeline: how a model family turns a request into speech or text with a graph of networks.
// Const after load; thread-safe.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/graph.h"
#include "model/options.h"
#include "model/request.h"
#include "model/sequence.h"

namespace syrinx {

/// A voice that a model brings.
struct VoiceInfo {
  std::string id;
  std::string description;
};

/// How text that arrives late is taken.
enum class LateText { kNone, kSentence, kToken };

/// A part of a model for `inspect`: its kind and its cost.
struct PartInfo {
  std::string name;
  std::string shape;
  size_t bytes = 0;
};

/// The properties of a model's speech.
struct SpeechFacts {
  int sample_rate = 24000;   ///< Hz, mono
  double frame_rate = 12.5;  ///< frames a second
  std::vector<VoiceInfo> voices;
  std::string default_voice;
  /// The voices are speakers of one voice, which is called as the model is.
  bool voices_are_speakers = false;
  bool mixes = false;  ///< speaks with several voices mixed by weight
  /// Why voice_encoder() is null, for people, e.g. "campplus.onnx is missing".
  std::string no_cloning = "this model's voices are fixed";
  std::vector<std::string> languages;
  LateText late_text = LateText::kNone;
  bool context = false;  ///< hears earlier turns of a conversation
  bool phones = false;   ///< says the phones of sayings and lexicons
  bool accents = false;  ///< says strong words with an accent
  bool word_times = false, phone_times = false;
};

/// What a model can hear in a chat, and write down.
struct HearingFacts {
  double seconds = 0;          ///< length of all recordings of a chat, at most; 0: it hears none
  bool first_channel = false;  ///< of several; false: their mean
  /// Stretches of a recording that stay as they were heard when more of it comes, so that it may be
  /// heard while it is spoken. Nothing: only what has ended can be heard.
  struct Stretches {
    double each_s = 0;
    double anew_s = 0;  ///< they begin anew after this time; 0: never
    /// Time by which the recording must go on behind a stretch.
    static constexpr double kAhead_s = 0.02;
  };
  std::optional<Stretches> ahead = {};
  /// Length of a recording that it writes down (Pipeline::dictation()), at most; 0: it does not.
  double dictates_s = 0;
};

/// The abilities of a model that writes.
struct WritingFacts {
  bool calls_tools = false;  ///< can be made to call a tool: Chat::must_call
  bool writes_json = false;  ///< can be made to write JSON of a schema: Chat::schema
  bool recalls = false;      ///< takes its earlier answers as it made them: RequestWriting::answers
  int64_t positions = 0;     ///< tokens of a prompt and its answer together, at most; 0: unknown
};

/// Facts about a loaded model.
struct PipelineInfo {
  std::string family;
  std::string model;  ///< the name that clients ask for
  std::string licence;
  bool speaks = true;   ///< answers with audio
  bool writes = false;  ///< answers with text, and takes a chat
  /// For a model that speaks and writes: it answers chats aloud, and hears the turns of a
  /// conversation; if false, it reads texts aloud, answers in words and writes down a recording
  /// that comes alone.
  bool converses = true;
  SpeechFacts speech = {};
  HearingFacts hearing = {};
  WritingFacts writing = {};
  Offers offers = {};  ///< options of the table that not every model has
  size_t max_text_bytes = 200'000;
  std::vector<PartInfo> parts = {};
};

/// The parts of an opened request: a sequence for each AR node of the graph, in their order; null
/// where the request does not open the node, nor the chunk nodes after it: text alone needs no
/// talker.
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

/// A stretch of a recording, for a transcript.
struct Dictation {
  std::shared_ptr<const Recording> recording;
  std::string language = {};  ///< in English ("German"), where it is known
};

/// A loaded model: its description, its graph, and how a request is opened.
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

  /// The request that writes a recording down, greedily, where HearingFacts::dictates_s says so.
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
