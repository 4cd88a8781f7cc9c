// A port that connections come in at, on an io thread. Inside the server only.
#pragma once

// clang-format off
#include "server/net/asio.h"
// clang-format on
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <string>

namespace syrinx {

/// The IP address `host`, or `localhost`, means; LoadError where it is neither.
net::ip::address parse_address(const std::string& host);

/// Listens from its making on; all but the constructor on the io thread.
class ListeningPort {
 public:
  /// Port 0 is any free one. LoadError names the address and what the system says. `breath`:
  /// between two connections, so that however many come, they get a bounded share of one core.
  ListeningPort(net::io_context& io, const std::string& host, int port,
                std::chrono::milliseconds breath = {});

  int number() const { return number_; }
  /// Gives every connection to `take`, until close(). The listener outlives it.
  net::awaitable<void> accept_all(std::function<void(net::ip::tcp::socket)> take);
  /// Accepts no more connections; those that are open go on.
  void close();

 private:
  net::ip::tcp::acceptor acceptor_;
  net::steady_timer pause_;
  std::chrono::milliseconds breath_;
  int number_ = 0;
};

}  // namespace syrinx
