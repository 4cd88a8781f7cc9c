// What the server answers where, apart from speech itself. Knows no sockets: a request's head goes
// in, an answer comes out. Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "audio/decode_helper.h"
#include "ears/ears.h"
#include "predict/counters.h"
#include "server/access/access.h"
#include "server/access/api_keys.h"
#include "server/chat/chat_call.h"
#include "server/models/model_table.h"
#include "server/request/reply.h"
#include "server/request/vendor_body.h"
#include "server/voices/voice_desk.h"

namespace syrinx {

/// What matters of a request before its body is read. Borrows from the request.
struct RequestHead {
  std::string_view method;
  std::string_view path;        ///< without the query
  std::string_view query = {};  ///< without the question mark
  std::string_view content_type = {};
  std::string_view authorization = {};
  std::string_view accept = {};
  BrowserFacts browser = {};
};

/// The server at this moment.
struct ServerView {
  const ModelTable* models = nullptr;               ///< null while the first model is being loaded
  const ApiKeys* keys = nullptr;                    ///< null: everybody is admitted
  const AccessRules* access = nullptr;              ///< null: every browser is admitted
  const VoiceDesk* voices = nullptr;                ///< null: none but the models' own
  const Ears* ears = nullptr;                       ///< null: nothing recognises speech
  const PredictionCounters* predictions = nullptr;  ///< null: nothing is predicted
  const DecodeHelper* decoder = nullptr;            ///< null: the server decodes recordings itself
  bool voice_uploads = true;                        ///< clients may add and remove voices
  bool draining = false;
  int connections = 0;  ///< open ones
  int streams = 0;      ///< speech requests that are being answered
  int64_t requests = 0;
  double uptime_s = 0;
};

/// The request is for speech and may go on: read the body.
struct SpeechRoute {
  bool batch = false;
  std::optional<VendorCall> vendor = {};  ///< whose words the body is in, if not OpenAI's
  std::optional<ChatKind> chat = {};      ///< an answer in text is wanted instead
};

/// The request changes the voices that are kept and may go on: read the body, if there is one.
struct VoiceRoute {
  enum Kind { kAdd, kAddConsent, kRemove, kRemoveConsent } kind = kAdd;
  std::string name = {};  ///< of what is removed
};

/// A recording is to be written down and that may go on: read the body.
struct TranscriptionRoute {
  bool translate = false;  ///< into English
};

/// Whether a model that is served clones voices, or may once it is loaded.
bool may_clone(const ServerView& server);
/// The same of recordings in a chat.
bool may_hear(const ServerView& server);
/// Whether there is a recogniser, or a model that has one or is not loaded yet.
bool may_transcribe(const ServerView& server);

/// A whole answer, or the word that this is speech, about voices or a recording. HEAD is answered
/// as GET; whoever writes the answer leaves the body out.
using Route = std::variant<Reply, SpeechRoute, VoiceRoute, TranscriptionRoute>;
Route route(const RequestHead& head, const ServerView& server);

}  // namespace syrinx
