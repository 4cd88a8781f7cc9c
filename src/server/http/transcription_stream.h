// Answers one request to write down a recording: reads the file as fast as it is heard, holds the
// status line until there is text, sends it as it is settled where the client asked for that, ends
// the work when the client goes away. Inside the server only; io thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "server/net/asio.h"
#include "server/request/reply.h"

namespace syrinx {

class Connection;
struct ServerState;

/// What is left of a request when its body has been read.
struct TranscriptionExchange {
  std::string request_id;
  std::string body;
  std::string content_type;
  bool translate = false;
  bool keep_alive = true;
  bool chunked = true;   ///< false: an HTTP/1.0 client, the end of the connection is the end
  uint64_t client = 0;   ///< hash of the client
  Headers headers = {};  ///< that every answer carries
  std::shared_ptr<void> place = {};  ///< among the large bodies that are in memory; may be null
};

/// True when the connection can take the next request. `exchange` outlives the call.
net::awaitable<bool> answer_transcription(ServerState& server,
                                          std::shared_ptr<Connection> connection,
                                          TranscriptionExchange& exchange);

}  // namespace syrinx
