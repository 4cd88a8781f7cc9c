// A WebSocket on a connection of the HTTP server: upgrades it, then moves frames between the socket
// and a TextSession, with deadlines on everything. Inside the server only; io thread only.
#pragma once

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <memory>
#include <string>

#include "server/asio.h"
#include "server/reply.h"

namespace syrinx {

class Connection;
struct ServerState;

/// Whether the request asks for a WebSocket.
using UpgradeRequest = boost::beast::http::request<boost::beast::http::string_body>;
bool wants_websocket(const UpgradeRequest& request);

/// Serves the WebSocket until one side has had enough. A refusal before the upgrade is left in
/// `refusal` for the caller to send; nothing was written then. All arguments outlive the call.
net::awaitable<void> serve_websocket(ServerState& server, std::shared_ptr<Connection> connection,
                                     const UpgradeRequest& request, const std::string& id,
                                     Reply& refusal, bool& refused);

}  // namespace syrinx
