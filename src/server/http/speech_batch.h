// Answers POST /v1/audio/speech/batch: up to 32 texts at once, all of their audio in one JSON body.
// Inside the server only; io thread only.
#pragma once

#include <memory>

#include "server/http/speech_stream.h"
#include "server/net/asio.h"

namespace syrinx {

/// {"id", "results": [{"index", "status", "audio_data" in base64, "media_type", "sample_rate",
/// "finish_reason" | "error"}], "total", "succeeded", "failed"}; an item's fault fails that item
/// alone. True when the connection can take the next request. `exchange` outlives the call.
net::awaitable<bool> answer_batch(ServerState& server, std::shared_ptr<Connection> connection,
                                  const SpeechExchange& exchange);

}  // namespace syrinx
