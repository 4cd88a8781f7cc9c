// Answers a chat or text completion on a connection. Submits the request, delays the status line
// until text arrives, and sends the answer in parts or whole. Cancels the request when the client
// disconnects. Inside the server only; io thread only.
#pragma once

#include <memory>

#include "server/chat/chat_call.h"
#include "server/http/speech_stream.h"
#include "server/net/asio.h"

namespace syrinx {

/// Answers the request. Returns true when the connection can take another request. `exchange` must
/// outlive the call; its body is freed as soon as it has been read.
net::awaitable<bool> answer_chat(ServerState& server, std::shared_ptr<Connection> connection,
                                 SpeechExchange& exchange, ChatKind kind);

}  // namespace syrinx
