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

/// A voice that is part of a model.
struct VoiceInfo {
  std::string id;
  std::string description;
};

/// The unit in which a model takes text that arrives late.
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
  /// The voices are speakers of one voice, whose name is the model's.
  bool voices_are_speakers = false;
  bool mixes = false;  ///< speaks with several voices mixed by weight
  /// The reason why voice_encoder() is null, for users: "campplus.onnx is missing".
  std::string no_cloning = "this model's voices are fixed";
  std::vector<std::string> languages;
  LateText late_text = LateText::kNone;
  bool context = false;  ///< hears earlier turns of a conversation
  bool phones = false;   ///< says the phones of sayings and lexicons
  bool accents = false;  ///< says strong words with an accent
  bool word_times = false, phone_times = false;
};

/// The recordings that a model can hear in a chat and transcribe.
struct HearingFacts {
  double seconds = 0;  ///< longest length of all recordings of a chat together; 0: it hears none
  bool first_channel = false;  ///< of several channels only the first is heard; false: their mean
  /// Bounds of stretches of a recording that can be heard while the client speaks, because later
  /// samples do not change their result. Unset: only complete recordings can be heard.
  struct Stretches {
    double each_s = 0;
    double anew_s = 0;  ///< time after which stretches start again; 0: never
    /// Seconds of the recording that must follow a stretch.
    static constexpr double kAhead_s = 0.02;
  };
  std::optional<Stretches> ahead = {};
  /// Longest recording that the model transcribes (Pipeline::dictation()); 0: it does not.
  double dictates_s = 0;
  /// A longer recording is cut at the quietest place at most this far from dictates_s, as the
  /// model's authors do; 0: at one in the last third before dictates_s.
  double cut_search_s = 0;
  std::vector<std::string> languages = {};  ///< languages that it transcribes (ISO 639); empty: any
  bool finds_language = false;              ///< Dictated::language is set
  bool prompts = false;                     ///< Dictation::prompt changes what is heard
  /// The model writes words of a recording while its samples arrive (Pipeline::listening()):
  /// samples of 16 kHz, in frames of `frame` samples. 0: it does not.
  int frame = 0;
};

/// The abilities of a model that writes.
struct WritingFacts {
  bool calls_tools = false;  ///< can be made to call a tool: Chat::must_call
  bool writes_json = false;  ///< can be made to write JSON of a schema: Chat::schema
  bool recalls = false;      ///< takes its earlier answers as ids: RequestWriting::answers
  int64_t positions = 0;     ///< largest sum of the tokens of prompt and answer; 0: unknown
};

/// Facts about a loaded model.
struct PipelineInfo {
  std::string family;
  std::string model;  ///< the name that clients ask for
  std::string licence;
  bool speaks = true;   ///< answers with audio
  bool writes = false;  ///< answers with text, and takes a chat
  /// For a model that speaks and writes. True: it answers chats with speech, and hears the turns of
  /// a conversation. False: it reads texts aloud, answers with text, and transcribes a recording
  /// that comes alone.
  bool converses = true;
  SpeechFacts speech = {};
  HearingFacts hearing = {};
  WritingFacts writing = {};
  Offers offers = {};  ///< options of the table that only some models have
  size_t max_text_bytes = 200'000;
  std::vector<PartInfo> parts = {};
};

/// The parts of an opened request: a sequence for each AR node of the graph, in node order. A null
/// sequence: the request uses neither that node nor the chunk nodes after it, e.g. an answer in
/// text does not use the talker.
struct Opened {
  std::vector<std::unique_ptr<Sequence>> sequences;
  /// Samples that go from the client to a chunk node: whole frames.
  std::vector<float> samples = {};
  bool samples_open = false;  ///< more samples follow (Engine::append_samples); else these are all

  Opened() = default;
  template <typename S>
  requires std::derived_from<S, Sequence> Opened(
      std::unique_ptr<S> only) {  // NOLINT(google-explicit-constructor)
    sequences.push_back(std::move(only));
  }
  /// Returns the only sequence, or the first one.
  Sequence& sequence() const { return *sequences.front(); }
  /// Moves that sequence out.
  std::unique_ptr<Sequence> only() { return std::move(sequences.front()); }
};

/// A node whose stage runs in another process, with the state of the link to that process.
struct RemoteNode {
  std::string node;
  std::string where;
  bool up = false;
  std::string trouble;  ///< the reason why the link is down
  uint64_t connections = 0, batches = 0, lost_batches = 0, sent_bytes = 0, received_bytes = 0;
};

/// A stretch of a recording, for a transcript.
struct Dictation {
  std::shared_ptr<const Recording> recording;
  std::string language = {};  ///< its English name ("German"); empty: unknown
  std::string prompt = {};    ///< words to expect
  std::string expected = {};  ///< the likely transcript; it changes only the time
};

/// The transcript of a stretch.
struct Dictated {
  std::string text;
  std::string language = {};  ///< ISO 639, found in the recording; empty: unknown
};

/// Options for transcribing a recording whose samples arrive one after another.
struct OpenDictation {
  /// The samples arrive while they are spoken, so the model waits for little audio after a word.
  /// False: they arrive at any speed, and the model waits for as much audio as it can use.
  bool live = false;
  bool scores = false;  ///< tokens come with their log-probability
};

/// A loaded model: its description and graph, and the functions that open requests.
class Pipeline {
 public:
  virtual ~Pipeline() = default;
  virtual const PipelineInfo& info() const = 0;
  /// Returns the graph; always the same one.
  virtual const Graph& graph() const = 0;
  /// Checks a request and makes its prompts. Any thread. The caller has refused requests that the
  /// model does not support (check_request), and set the language to the model's name
  /// (read_language).
  virtual Result<Opened> open(const SpeechRequest&) const = 0;

  /// Returns the request that transcribes a recording greedily. Only for models with
  /// HearingFacts::dictates_s above 0.
  virtual Result<SpeechRequest> dictation(const Dictation& dictation) const;
  /// Returns the transcript in the answer to such a request. `whole`: the answer has ended; else
  /// the words that are certain so far.
  virtual Dictated dictated(const Dictation& /*asked*/, std::string_view answer,
                            bool /*whole*/) const {
    return {std::string(answer)};
  }

  /// Returns the request that writes a recording's words while its samples arrive. Only for models
  /// with HearingFacts::frame above 0. The samples follow through Engine::append_samples(). The
  /// text is final; its tokens have times. A token without bytes reports how much of the recording
  /// was heard.
  virtual Result<SpeechRequest> listening(const OpenDictation& listening) const;

  /// Returns the encoder that makes voices from recordings; null if there is none.
  virtual const VoiceEncoder* voice_encoder() const { return nullptr; }
  /// Returns the nodes of the graph that run in other processes, with their present state.
  virtual std::vector<RemoteNode> remote_nodes() const { return {}; }
  /// Makes a voice from a user's speaker embedding. kUnsupported if the model has no such voices.
  virtual Result<Voice> voice_of_embedding(std::span<const float> embedding) const;
};

/// Checks a request against the facts about the model: length of the text, voices, mixes, speed,
/// language, earlier turns, chats.
Status check_request(const PipelineInfo& info, const SpeechRequest& request);

}  // namespace syrinx
