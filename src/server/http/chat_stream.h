// Answers one chat or text completion on a connection: submits it, holds the status line until
// there is text, streams it as it is written or sends it whole, cancels when the client goes away.
// Inside the server only; io thread only.
#pragma once

#include <memory>

#include "server/chat/chat_call.h"
#include "server/http/speech_stream.h"
#include "server/net/asio.h"

namespace syrinx {

/// True when the connection can take the next request. `exchange` outlives the call; its body is
/// let go as soon as it has been read.
net::awaitable<bool> answer_chat(ServerState& server, std::shared_ptr<Connection> connection,
                                 SpeechExchange& exchange, ChatKind kind);

}  // namespace syrinx
