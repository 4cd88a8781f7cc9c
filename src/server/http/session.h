// One connection: reads and answers requests one after another, within time limits. Inside the
// server only; io thread only.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "server/http/routes.h"
#include "server/net/asio.h"
#include "server/request/reply.h"

namespace syrinx {

class Connection;
struct ServerState;

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(ServerState& server, net::ip::tcp::socket socket, const net::ip::address& address);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Serves until the client or the server ends the connection. Never throws.
  net::awaitable<void> run();
  /// Returns whether the connection is between two requests, so that it may be closed.
  bool idle() const { return idle_; }
  /// Returns whether the connection began after the server began to stop: it only gets refusals
  /// and the server's state.
  bool late() const { return late_; }
  void close();

 private:
  struct Incoming;  ///< the request that is being read
  net::awaitable<bool> serve_one();
  net::awaitable<bool> read_head(Incoming& incoming);
  void add_load(Incoming& incoming) const;
  net::awaitable<bool> read_body(Incoming& incoming);
  net::awaitable<bool> decode_body(Incoming& incoming);
  bool skip_empty_lines();
  size_t max_body_bytes(const Incoming& incoming) const;
  std::optional<Reply> take_body_permit(Incoming& incoming);
  std::optional<Reply> make_room(Incoming& incoming);
  net::awaitable<bool> change_voices(Incoming& incoming, const VoiceRoute& wish, uint64_t who);
  net::awaitable<void> refuse(Incoming& incoming, const Reply& reply);
  net::awaitable<bool> send(const Incoming& incoming, const Reply& reply);

  uint64_t client(const Incoming& incoming) const;

  ServerState& server_;
  const uint64_t address_;  // hash of the client's address
  std::shared_ptr<Connection> connection_;
  const bool late_;
  bool idle_ = false;
};

}  // namespace syrinx
