// What the server answers where, apart from speech itself. Knows no sockets: a request's head goes
// in, an answer comes out. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "server/access/access.h"
#include "server/chat/chat_call.h"
#include "server/http/server_view.h"
#include "server/request/reply.h"
#include "server/request/vendor_body.h"

namespace syrinx {

/// What matters of a request before its body is read. Borrows from the request.
struct RequestHead {
  std::string_view method;
  std::string_view path;        ///< without the query
  std::string_view query = {};  ///< without the question mark
  std::string_view content_type = {};
  std::string_view authorization = {};
  std::string_view accept = {};
  bool elevenlabs = false;  ///< the key came in the header of ElevenLabs' clients
  BrowserFacts browser = {};
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

/// A whole answer, or the word that this is speech, about voices or a recording. HEAD is answered
/// as GET; the code that writes the answer leaves the body out.
using Route = std::variant<Reply, SpeechRoute, VoiceRoute, TranscriptionRoute>;
Route route(const RequestHead& head, const ServerView& server);

}  // namespace syrinx
