// A WebSocket on a connection of the HTTP server: upgrades it, then moves frames between the socket
// and a TextSession, with deadlines on everything. Inside the server only; io thread only.
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

/// Whether the request asks for a WebSocket.
using UpgradeRequest = boost::beast::http::request<boost::beast::http::string_body>;
bool wants_websocket(const UpgradeRequest& request);

/// What is known of an upgrade. Borrows from the session.
struct WsUpgrade {
  const UpgradeRequest& request;
  const std::string& id;  ///< of the connection
  BrowserFacts browser;
  uint64_t address = 0;  ///< of the client, hashed
};

/// Serves the WebSocket until one side has had enough. What speaks against it before the upgrade is
/// left in `refusal` for the caller to send; nothing was written then. All arguments outlive it.
net::awaitable<void> serve_websocket(ServerState& server, std::shared_ptr<Connection> connection,
                                     const WsUpgrade& upgrade, std::optional<Reply>& refusal);

}  // namespace syrinx
