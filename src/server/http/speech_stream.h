// Answers one speech request on a connection: submits the request, delays the status line until
// audio arrives, and streams the audio while it is made. Cancels the request when the client
// disconnects. Inside the server only; io thread only.
#pragma once

#include <memory>
#include <string>

#include "server/net/asio.h"
#include "server/request/reply.h"
#include "server/request/vendor_body.h"

namespace syrinx {

class Connection;
struct ServerState;

/// The parts of a request that are needed after its body has been read.
struct SpeechExchange {
  std::string request_id;
  std::string body;
  bool keep_alive = true;
  bool chunked = true;    ///< false for HTTP/1.0: closing the connection ends the body
  bool trailers = false;  ///< the client accepts trailers
  uint64_t client = 0;    ///< hash of the client
  Headers headers = {};   ///< headers of every answer
  std::optional<VendorCall> vendor = {};   ///< vendor whose format the body has; unset means OpenAI
  std::string query = {};                  ///< query of the target, with the vendor's options
  std::shared_ptr<void> body_permit = {};  ///< permit for a large body in memory; may be null
};

/// Answers the request. Returns true when the connection can take another request. `exchange` must
/// outlive the call; its body is freed as soon as it has been read.
net::awaitable<bool> stream_speech(ServerState& server, std::shared_ptr<Connection> connection,
                                   SpeechExchange& exchange);

}  // namespace syrinx
