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
#include "model/kept_stream.h"
#include "model/options.h"
#include "model/request.h"
#include "model/sequence.h"

namespace syrinx {

/// A voice that is built into a model.
struct VoiceInfo {
  std::string id;
  std::string description;
};

/// The smallest piece of late text that a model accepts.
enum class LateText { kNone, kSentence, kToken };

/// A part of a model, as `syrinx inspect` lists it: its name, its shape, and bytes of weights.
struct PartInfo {
  std::string name;
  std::string shape;
  size_t bytes = 0;
};

/// The properties of a model's speech.
struct SpeechFacts {
  int sample_rate = 24000;   ///< Hz, mono
  double frame_rate = 12.5;  ///< frames per second
  std::vector<VoiceInfo> voices;
  std::string default_voice;
  /// Whether the voices are the speakers of one voice, which has the model's name (Piper).
  bool voices_are_speakers = false;
  bool mixes = false;  ///< can mix several voices by weight
  /// The reason why voice_encoder() is null, as a phrase for users: "campplus.onnx is missing".
  std::string no_cloning = "this model's voices are fixed";
  std::vector<std::string> languages;
  LateText late_text = LateText::kNone;
  bool context = false;  ///< uses earlier turns of a conversation (RequestText::context)
  bool phones = false;   ///< speaks the phones of sayings and lexicons
  bool accents = false;  ///< can stress words (Saying::strong)
  bool word_times = false, phone_times = false;
};

/// The recordings that a model can process in a chat, and transcribe.
struct HearingFacts {
  double seconds = 0;          ///< longest sum of all recordings of a chat; 0: no recordings
  bool first_channel = false;  ///< uses only the first of several channels; false: their mean
  /// Bounds of the stretches of a recording that the model can process while the client speaks,
  /// because later samples do not change their result. Unset: the model needs complete recordings.
  struct Stretches {
    double each_s = 0;
    double anew_s = 0;  ///< seconds after which the division into stretches restarts; 0: never
    /// Seconds of the recording that must exist after a stretch.
    static constexpr double kAhead_s = 0.02;
  };
  std::optional<Stretches> ahead = {};
  /// Longest recording that the model transcribes (Pipeline::dictation()); 0: it transcribes none.
  double dictates_s = 0;
  /// A longer recording is cut at the quietest place within this many seconds of dictates_s, as in
  /// the authors' code. 0: at the quietest place in the last third before dictates_s.
  double cut_search_s = 0;
  std::vector<std::string> languages = {};  ///< languages (ISO 639) that it transcribes; empty: any
  bool finds_language = false;              ///< Dictated::language is set
  bool prompts = false;                     ///< Dictation::prompt changes the transcript
  /// Samples in a frame, for a model that writes words of a recording while its samples arrive
  /// (Pipeline::listening()). 0 means that the model cannot do this.
  int frame = 0;
  int rate = 16000;  ///< samples per second of these frames
  int tail = 0;      ///< zero samples that follow a recording, because words lag behind
};

/// The abilities of a model that writes.
struct WritingFacts {
  bool calls_tools = false;  ///< can be forced to call a tool: Chat::must_call
  bool writes_json = false;  ///< can be forced to write JSON of a schema: Chat::schema
  bool recalls = false;      ///< accepts its earlier answers as ids: RequestWriting::answers
  int64_t positions = 0;     ///< largest sum of the tokens of prompt and answer; 0: unknown
};

/// Facts about a loaded model.
struct PipelineInfo {
  std::string family;
  std::string model;  ///< the name that clients send to choose the model
  std::string licence;
  bool speaks = true;   ///< can answer with audio
  bool writes = false;  ///< can answer with text, and accepts a chat
  /// For a model that speaks and writes. True: it answers chats with speech, and processes the
  /// turns of a conversation. False: it reads texts aloud, answers with text, and transcribes a
  /// recording that is the only input.
  bool converses = true;
  SpeechFacts speech = {};
  HearingFacts hearing = {};
  WritingFacts writing = {};
  Offers offers = {};  ///< options of the table that only some models have
  size_t max_text_bytes = 200'000;
  std::vector<PartInfo> parts = {};
};

/// The parts of an opened request: a sequence for each AR node of the graph, in node order. A null
/// sequence means that the request uses neither its node nor the chunk nodes after it. For example,
/// an answer in text does not use the talker.
struct Opened {
  std::vector<std::unique_ptr<Sequence>> sequences;
  /// Samples that the client sends to a chunk node; they must be whole frames.
  std::vector<float> samples = {};
  bool samples_open = false;  ///< more samples follow (Engine::append_samples)
  /// RequestText::kept, if the first chunk node after an AR node continues the stream of the turn
  /// before. Its stage reads codes, has no lookahead, makes a frame of each frame, and can go on
  /// after the last chunk of a turn.
  std::shared_ptr<KeptStream> kept = {};

  Opened() = default;
  template <typename S>
  requires std::derived_from<S, Sequence> Opened(
      std::unique_ptr<S> only) {  // NOLINT(google-explicit-constructor)
    sequences.push_back(std::move(only));
  }
  /// Returns the only sequence, or the first one.
  Sequence& sequence() const { return *sequences.front(); }
  /// Moves the only sequence out.
  std::unique_ptr<Sequence> only() { return std::move(sequences.front()); }
};

/// A node whose stage runs in another process, with the state of the link to that process.
struct RemoteNode {
  std::string node;
  std::string where;
  bool up = false;
  std::string trouble;  ///< why the link is down, or about to end
  uint64_t connections = 0, batches = 0, lost_batches = 0, sent_bytes = 0, received_bytes = 0;
};

/// A stretch of a recording, for a transcript.
struct Dictation {
  std::shared_ptr<const Recording> recording;
  std::string language = {};  ///< English name of the language ("German"); empty: unknown
  std::string prompt = {};    ///< words that the recording is likely to contain
  std::string expected = {};  ///< the likely transcript; changes only the time
};

/// The transcript of a stretch.
struct Dictated {
  std::string text;
  std::string language = {};  ///< ISO 639 code, found in the recording; empty: unknown
};

/// Options for transcribing a recording whose samples arrive one after another.
struct OpenDictation {
  /// True: the samples arrive while they are spoken, so the model waits for little audio after a
  /// word. False: they arrive at any speed, and the model waits for as much audio as it can use.
  bool live = false;
  bool scores = false;  ///< tokens have their log-probability
};

/// A loaded model: its description and graph, and the functions that open requests.
class Pipeline {
 public:
  virtual ~Pipeline() = default;
  virtual const PipelineInfo& info() const = 0;
  /// Returns the graph, the same one in every call.
  virtual const Graph& graph() const = 0;
  /// Checks a request and makes its prompts. Any thread. The caller has already refused requests
  /// that the model does not support (check_request), and replaced the language by the model's name
  /// (read_language).
  virtual Result<Opened> open(const SpeechRequest&) const = 0;

  /// Returns the request that transcribes a recording greedily. Only for models with
  /// HearingFacts::dictates_s above 0.
  virtual Result<SpeechRequest> dictation(const Dictation& dictation) const;
  /// Returns the transcript in the answer to a request of dictation(). `whole`: the answer has
  /// ended. Otherwise returns only the words that are final so far.
  virtual Dictated dictated(const Dictation& /*asked*/, std::string_view answer,
                            bool /*whole*/) const {
    return {std::string(answer)};
  }

  /// Returns the request that writes a recording's words while its samples arrive; only if
  /// HearingFacts::frame is above 0. Samples follow by Engine::append_samples(). Text is final,
  /// tokens have times. One without bytes extends the last word to end_s or, if start_s is end_s,
  /// reports progress; its logprob, if below 0, is that of the event that the speaker goes on.
  virtual Result<SpeechRequest> listening(const OpenDictation& listening) const;

  /// Returns the encoder that makes voices from recordings. Null if the model has no encoder.
  virtual const VoiceEncoder* voice_encoder() const { return nullptr; }
  /// Returns the nodes of the graph that run in other processes, with their present state.
  virtual std::vector<RemoteNode> remote_nodes() const { return {}; }
  /// Makes a voice from a user's speaker embedding. Returns kUnsupported if the model cannot.
  virtual Result<Voice> voice_of_embedding(std::span<const float> embedding) const;
};

/// Checks a request against the facts about the model: length of the text, voices, mixes, speed,
/// language, earlier turns and chats.
Status check_request(const PipelineInfo& info, const SpeechRequest& request);

}  // namespace syrinx
