// Answers one request to transcribe a recording. Decodes the file as fast as it is recognised, and
// delays the status line until text arrives. Sends final text at once if the client wants a stream.
// Stops when the client disconnects. Inside the server only; io thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "server/net/asio.h"
#include "server/request/reply.h"

namespace syrinx {

class Connection;
struct ServerState;

/// The parts of a request that are needed after its body has been read.
struct TranscriptionExchange {
  std::string request_id;
  std::string body;
  std::string content_type;
  bool translate = false;
  bool keep_alive = true;
  bool chunked = true;   ///< false for HTTP/1.0: closing the connection ends the body
  uint64_t client = 0;   ///< hash of the client
  Headers headers = {};  ///< headers of every answer
  std::shared_ptr<void> body_permit = {};  ///< permit for a large body in memory; may be null
};

/// Answers the request. Returns true when the connection can take another request. `exchange` must
/// outlive the call.
net::awaitable<bool> answer_transcription(ServerState& server,
                                          std::shared_ptr<Connection> connection,
                                          TranscriptionExchange& exchange);

}  // namespace syrinx
