// Answers one speech request on a connection: submits it, holds the status line until there is
// audio, streams the audio as it is made, cancels when the client goes away.
// Inside the server only; io thread only.
#pragma once

#include <memory>
#include <string>

#include "server/net/asio.h"
#include "server/request/reply.h"
#include "server/request/vendor_body.h"

namespace syrinx {

class Connection;
struct ServerState;

/// What is left of a request when its body has been read.
struct SpeechExchange {
  std::string request_id;
  std::string body;
  bool keep_alive = true;
  bool chunked = true;    ///< false: an HTTP/1.0 client, the end of the connection is the end
  bool trailers = false;  ///< the client said that it reads trailers
  uint64_t client = 0;    ///< hash of the client
  Headers headers = {};   ///< that every answer carries
  std::optional<VendorCall> vendor = {};  ///< whose words the body is in, if not OpenAI's
  std::string query = {};                 ///< of the target, for them
  std::shared_ptr<void> place = {};  ///< among the large bodies that are in memory; may be null
};

/// True when the connection can take the next request. `exchange` outlives the call; its body is
/// let go as soon as it has been read.
net::awaitable<bool> stream_speech(ServerState& server, std::shared_ptr<Connection> connection,
                                   SpeechExchange& exchange);

}  // namespace syrinx
