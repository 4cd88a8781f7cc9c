// A WebSocket on a connection of the HTTP server: upgrades the connection, then moves frames
// between the socket and a WireSession, with deadlines on all operations. Inside the server only;
// io thread only.
#pragma once

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "server/access/access.h"
#include "server/net/asio.h"
#include "server/request/reply.h"

namespace syrinx {

class Connection;
struct ServerState;

using UpgradeRequest = boost::beast::http::request<boost::beast::http::string_body>;
/// Returns whether the request asks for a WebSocket.
bool wants_websocket(const UpgradeRequest& request);

/// The parts of an upgrade request. Borrows from the session.
struct WsUpgrade {
  const UpgradeRequest& request;
  const std::string& id;  ///< id of the connection
  BrowserFacts browser;
  uint64_t address = 0;  ///< hash of the client's address
};

/// Serves the WebSocket until one side ends it. If it refuses the upgrade, it writes nothing and
/// sets `refusal` for the caller to send. All arguments must outlive the call.
net::awaitable<void> serve_websocket(ServerState& server, std::shared_ptr<Connection> connection,
                                     const WsUpgrade& upgrade, std::optional<Reply>& refusal);

}  // namespace syrinx
