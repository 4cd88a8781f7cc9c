// The common interface of all WebSocket dialects (and Wyoming), in which text arrives while audio
// is returned. A dialect is a pure state machine: it turns a client's messages and the events of
// the speech into actions. It has no sockets, engine or clock, and never throws, for any input. One
// thread at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "model/pipeline.h"
#include "server/models/backend.h"
#include "server/request/api_error.h"
#include "server/request/speech_call.h"
#include "server/request/timed_words.h"
#include "voices/voices.h"

namespace syrinx {

/// Options of a context; fixed when it is opened.
struct ContextOptions {
  SpeechCall call;           ///< the settings; their text is empty
  bool words = false;        ///< send the times of words, if the model provides them
  bool by_sentence = false;  ///< each sentence is an utterance, even if the model takes late text
  // For text in SSML (text/ssml_stream.h), in which each document is an utterance:
  std::optional<bool> ssml = {};  ///< like the field of POST /v1/audio/speech
  bool bare_ssml = false;         ///< with ssml true: a document may omit its <speak>
  bool strict = false;            ///< see SpeechBody::call()
  /// The model that speaks. Null means the model of the connection.
  std::shared_ptr<Backend> backend = {};
};

// ---- Actions of a dialect. A context is one voice with one stream of text; its audio is in the
// order of the text. The client chooses the names of contexts. Actions on unknown contexts are
// ignored.

/// Sends a message to the client, unchanged.
struct SendMessage {
  std::string bytes;
  bool binary = false;
};

/// Opens a context.
struct OpenContext {
  std::string context;
  ContextOptions options;
};

/// Adds text to a context.
struct AddText {
  std::string context, text;
};
/// Marks the text so far as complete, so that it is spoken. kFlushed follows its audio.
struct FlushContext {
  std::string context;
};
/// Flushes; no more text follows. kFinished follows the audio.
struct FinishContext {
  std::string context;
};
/// Ends a context at once: drops audio that was not sent; no event follows.
struct CancelContext {
  std::string context;
};
/// Ends the connection when all earlier messages were sent.
struct CloseConnection {
  int code = 1000;
  std::string reason = {};
};
/// Loads a model of the table. No message is read before model_loaded() is called with the result.
struct LoadModel {
  std::string model;
};
using Action = std::variant<SendMessage, OpenContext, AddText, FlushContext, FinishContext,
                            CancelContext, CloseConnection, LoadModel>;
using Actions = std::vector<Action>;

// ---- Events of the speech.

/// An event of a context. An utterance is the text of one request to the engine.
struct SpeechEvent {
  enum Kind {
    kStarted,   ///< the first audio of an utterance follows
    kAudio,     ///< audio, in `bytes`
    kWords,     ///< words of the utterance in order, if requested; may precede their audio
    kPhones,    ///< `words` has the phones, if requested; directly before kSpoken
    kSpoken,    ///< an utterance has ended
    kFlushed,   ///< everything up to a flush has been sent
    kUnspoken,  ///< the text since the last flush is left out; `error` says why it has no speech
    kFinished,  ///< the context has ended, all its audio was sent
    kFailed,    ///< the context has ended; `error` has the reason
  };
  Kind kind = kAudio;
  std::string context = {};
  std::string bytes = {};
  int rate_hz = 0;  ///< sample rate of the audio as it is sent
  /// Text of the utterance. kStarted: only if it is already complete. kSpoken: always.
  std::string text = {};
  std::vector<TimedWord> words = {};
  double audio_s = 0;                         ///< kSpoken: length of the utterance
  FinishReason reason = FinishReason::kStop;  ///< kSpoken: why the utterance ended
  std::vector<int32_t> codes = {};            ///< kSpoken: its codes, see RequestText::kept
  /// kSpoken: marks of the utterance's SSML, if the model has their times
  std::vector<TimedWord> marks = {};
  std::vector<std::string> warnings = {};  ///< kStarted: warnings about ignored parts of the text
  ApiError error = {};
  double at_s = 0;  ///< time of the event on the caller's clock
};

/// The protocol of a connection.
class Dialect {
 public:
  virtual ~Dialect() = default;
  /// Called when the connection has been opened.
  virtual void opened(Actions&) {}
  virtual void message(std::string_view bytes, bool binary, Actions& out) = 0;
  virtual void event(const SpeechEvent& event, Actions& out) = 0;
  /// Sends the results of other work than speech (a recogniser's). Called when the connection may
  /// send.
  virtual void progress(Actions&) {}
  /// Returns whether such work runs, so that the connection is not idle.
  virtual bool busy() const { return false; }
  /// Returns whether such work is so far behind that messages must wait.
  virtual bool full() const { return false; }
  /// Receives the result of LoadModel.
  virtual void model_loaded(const Status&, Actions&) {}
  /// Returns the seconds without messages and audio after which idle() is called. The value may
  /// change between calls.
  virtual double idle_timeout_s() const = 0;
  /// Ends an idle connection.
  virtual void idle(Actions& out) = 0;
  /// Returns the most contexts that may be open at once.
  virtual int max_contexts() const { return 1; }
};

/// A Speaker with its own copy of the model's facts, because a dialect may outlive the model. It
/// borrows the encoder, the store and the aliases, which outlive the dialect.
struct OwnSpeaker {
  explicit OwnSpeaker(const Speaker& speaker)
      : info(*speaker.info),
        encoder(speaker.encoder),
        store(speaker.store),
        aliases(speaker.aliases) {}
  Speaker view() const { return {info, encoder, store, aliases}; }
  PipelineInfo info;
  const VoiceEncoderInfo* encoder;
  const VoiceStore* store;
  const VoiceAliases* aliases;
};

/// The request that opened a connection.
struct DialectRequest {
  std::string path = {};   ///< without the query
  std::string query = {};  ///< after the question mark
  std::string id = {};     ///< id of the connection; some messages contain it
  bool strict = false;     ///< see SpeechBody::call()
};

/// Makes the dialect of a path. Returns null for an unknown path or invalid parameters of the
/// query; `error` says what is wrong.
std::unique_ptr<Dialect> make_dialect(const DialectRequest& request, const Speaker& speaker,
                                      ApiError& error);
/// Returns whether a path is only used for WebSockets.
bool is_websocket_path(std::string_view path);
inline constexpr std::string_view kRealtimePath = "/v1/realtime";
/// Returns "token", "sentence" or "none"; static storage.
const char* late_text_name(LateText late);

}  // namespace syrinx
