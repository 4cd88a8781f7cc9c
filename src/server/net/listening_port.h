// A port that accepts connections on an io thread. Only files of src/server include it.
#pragma once

// clang-format off
#include "server/net/asio.h"
// clang-format on
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <string>

namespace syrinx {

/// Parses `host`, an IP address or `localhost`; throws LoadError for anything else.
net::ip::address parse_address(const std::string& host);

/// Listens from its construction on. Call all methods but the constructor on the io thread.
class ListeningPort {
 public:
  /// Port 0 means any free port. Throws LoadError with the address and the system's message.
  /// `breath`: pause between two connections, so that a flood of connections takes only a bounded
  /// share of a core.
  ListeningPort(net::io_context& io, const std::string& host, int port,
                std::chrono::milliseconds breath = {});

  int number() const { return number_; }
  /// Passes every connection to `take`, until close(). This object must outlive the coroutine. A
  /// connection whose client vanished without closing it fails after 30 s.
  net::awaitable<void> accept_all(std::function<void(net::ip::tcp::socket)> take);
  /// Accepts no more connections; open connections continue.
  void close();

 private:
  net::ip::tcp::acceptor acceptor_;
  net::steady_timer pause_;
  std::chrono::milliseconds breath_;
  int number_ = 0;
};

}  // namespace syrinx
