// Answers POST /v1/audio/speech/batch: up to 32 texts at once.
// The answer is one JSON body with the audio of all texts.
// Inside the server only; io thread only.
#pragma once

#include <memory>

#include "server/http/speech_stream.h"
#include "server/net/asio.h"

namespace syrinx {

/// Answers with {"id", "results": [{"index", "status", "audio_data" in base64, "media_type",
/// "sample_rate", "seed", "finish_reason", "warnings" | "error"}], "total", "succeeded", "failed"}.
/// A fault fails only its item. Returns true when the connection can take another request.
/// `exchange` must outlive the call.
net::awaitable<bool> answer_batch(ServerState& server, std::shared_ptr<Connection> connection,
                                  const SpeechExchange& exchange);

}  // namespace syrinx
