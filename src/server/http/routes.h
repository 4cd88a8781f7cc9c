// Decides how each path is answered; answers all requests but speech, chats, transcriptions and
// changes of voices. Takes the head of a request, returns an answer. No sockets; any thread.
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

/// The part of a request's head that routes use. Borrows from the request.
struct RequestHead {
  std::string_view method;
  std::string_view path;        ///< without the query
  std::string_view query = {};  ///< without the question mark
  std::string_view content_type = {};
  std::string_view authorization = {};
  std::string_view accept = {};
  bool elevenlabs = false;  ///< the key was in the header of ElevenLabs' clients
  BrowserFacts browser = {};
};

/// An accepted request for speech or a chat; its body must be read.
struct SpeechRoute {
  bool batch = false;
  std::optional<VendorCall> vendor = {};  ///< vendor of the body's format; unset means OpenAI
  std::optional<ChatKind> chat = {};      ///< set if the answer is a chat or completion
};

/// An accepted request that changes the stored voices; its body, if any, must be read.
struct VoiceRoute {
  enum Kind { kAdd, kAddConsent, kRemove, kRemoveConsent } kind = kAdd;
  std::string name = {};  ///< name of the voice or consent to delete
};

/// An accepted request to transcribe a recording; its body must be read.
struct TranscriptionRoute {
  bool translate = false;  ///< translate into English
};

/// A whole answer, or the kind of request. HEAD is answered as GET; the code that writes the answer
/// leaves the body out.
using Route = std::variant<Reply, SpeechRoute, VoiceRoute, TranscriptionRoute>;
Route route(const RequestHead& head, const ServerView& server);

}  // namespace syrinx
