// Adds and removes clients' voices and consents: POST and DELETE below /v1/audio/voices and
// /v1/audio/voice_consents. Inside the server only; io thread only.
#pragma once

#include <memory>
#include <string>

#include "server/http/routes.h"
#include "server/net/asio.h"
#include "server/request/reply.h"

namespace syrinx {

class Connection;
struct ServerState;

/// A request whose body has been read.
struct VoiceExchange {
  VoiceRoute route;
  std::string body;
  std::string content_type;
  uint64_t client = 0;  ///< hash of the client
};

/// Answers the request. If the client disconnects meanwhile, the encoding of its recording stops.
/// `exchange` must outlive the call.
net::awaitable<Reply> answer_voice_change(ServerState& server,
                                          std::shared_ptr<Connection> connection,
                                          VoiceExchange& exchange);

}  // namespace syrinx
