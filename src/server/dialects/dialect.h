// Text in while audio comes out: what every WebSocket dialect (and Wyoming) has in common. A
// dialect is a pure state machine. Messages of the client and events of the speech go in, actions
// come out; it knows no sockets, no engine and no clock, and may throw nothing whatever it is fed.
// One thread at a time.
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

/// How a context speaks; fixed when it is opened.
struct ContextOptions {
  SpeechCall call;           ///< its text is empty
  bool words = false;        ///< send the times of words, where the model knows them
  bool by_sentence = false;  ///< one utterance for each sentence even if the model takes late text
  // Text in SSML (text/ssml_stream.h): each document is an utterance of its own.
  std::optional<bool> ssml = {};  ///< as the field of POST /v1/audio/speech
  bool bare_ssml = false;         ///< with ssml true: a document may lack its <speak>
  bool strict = false;            ///< as for SpeechBody::call()
  /// The model that speaks; null: the connection's.
  std::shared_ptr<Backend> backend = {};
};

// ---- What a dialect asks for. A context is one voice with one stream of text; its audio comes in
// the order of the text. Names of contexts are the client's. Contexts that do not exist are
// ignored.

/// Goes to the client as it is.
struct SendMessage {
  std::string bytes;
  bool binary = false;
};

/// A context begins.
struct OpenContext {
  std::string context;
  ContextOptions options;
};

/// More text of it.
struct AddText {
  std::string context, text;
};
/// All text so far is complete: speak it. Answered by kFlushed once its audio is out.
struct FlushContext {
  std::string context;
};
/// Flushes; no text follows. Answered by kFinished.
struct FinishContext {
  std::string context;
};
/// Ends at once: audio that was not sent is dropped, and no event follows.
struct CancelContext {
  std::string context;
};
/// Ends the connection when all messages before it were sent.
struct CloseConnection {
  int code = 1000;
  std::string reason = {};
};
/// Loads a model of the table. Answered by model_loaded(), before which no message is read.
struct LoadModel {
  std::string model;
};
using Action = std::variant<SendMessage, OpenContext, AddText, FlushContext, FinishContext,
                            CancelContext, CloseConnection, LoadModel>;
using Actions = std::vector<Action>;

// ---- What becomes of it.

/// News of a context. An utterance is what the engine speaks in one piece.
struct SpeechEvent {
  enum Kind {
    kStarted,   ///< the first audio of an utterance comes next
    kAudio,     ///< `bytes`
    kWords,     ///< `words` of the utterance, in order, if wanted and known; may be ahead of audio
    kPhones,    ///< `words` are the utterance's phones, if wanted; just before its kSpoken
    kSpoken,    ///< an utterance has ended
    kFlushed,   ///< everything up to a flush has been sent
    kFinished,  ///< the context is gone, all its audio has been sent
    kFailed,    ///< the context is gone; `error` says why
  };
  Kind kind = kAudio;
  std::string context = {};
  std::string bytes = {};
  int rate_hz = 0;        ///< of the audio as sent
  std::string text = {};  ///< kStarted: of the utterance, where it is complete already
  std::vector<TimedWord> words = {};
  double audio_s = 0;                 ///< kSpoken: length of the utterance
  std::vector<TimedWord> marks = {};  ///< kSpoken: of its SSML, where the model knows their times
  std::vector<std::string> warnings = {};  ///< kStarted: what of its text was left out
  ApiError error = {};
  double at_s = 0;  ///< when, on the caller's clock
};

/// A connection's protocol.
class Dialect {
 public:
  virtual ~Dialect() = default;
  /// The connection stands.
  virtual void opened(Actions&) {}
  virtual void message(std::string_view bytes, bool binary, Actions& out) = 0;
  virtual void event(const SpeechEvent& event, Actions& out) = 0;
  /// What became of LoadModel.
  virtual void model_loaded(const Status&, Actions&) {}
  /// Seconds without a message and without audio after which idle() is called; may change.
  virtual double idle_timeout_s() const = 0;
  /// Says goodbye.
  virtual void idle(Actions& out) = 0;
  /// Contexts that may be open at once.
  virtual int max_contexts() const { return 1; }
};

/// A Speaker with facts of its own: a dialect may outlive the model that it refers to. Encoder,
/// store and aliases live on.
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

/// What a connection began with.
struct DialectRequest {
  std::string path = {};   ///< without the query
  std::string query = {};  ///< after the question mark
  std::string id = {};     ///< of the connection, for messages that carry one
  bool strict = false;     ///< as for SpeechBody::call()
};

/// The dialect that is spoken at a path. Null when there is none, or when parameters of the query
/// make no sense: `error` says what is wrong.
std::unique_ptr<Dialect> make_dialect(const DialectRequest& request, const Speaker& speaker,
                                      ApiError& error);
/// Whether a path is that of a WebSocket and of nothing else.
bool is_websocket_path(std::string_view path);
inline constexpr std::string_view kRealtimePath = "/v1/realtime";
/// "token", "sentence" or "none"; static storage.
const char* late_text_name(LateText late);

}  // namespace syrinx
