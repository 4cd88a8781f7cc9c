// One client's socket with deadlines on everything, and a way to sleep until there is news.
// Inside the server only; io thread only, unless said otherwise.
#pragma once

// clang-format off
#include "server/net/asio.h"
// clang-format on
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <memory>
#include <string>

#include "server/net/byte_stream.h"

namespace syrinx {

/// Lets one coroutine sleep until it is notified. News that comes early is not lost.
class Wakeup : public std::enable_shared_from_this<Wakeup> {
 public:
  explicit Wakeup(net::io_context& io) : io_(io), timer_(io) {}
  net::awaitable<void> wait();
  void notify();
  /// As notify(), from any thread.
  void post();

 private:
  net::io_context& io_;
  net::steady_timer timer_;
  bool news_ = false;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  /// `tls` null: plain bytes.
  Connection(net::ip::tcp::socket socket, std::shared_ptr<TlsContext> tls);

  ByteStream& stream() { return stream_; }
  /// What was read and not yet parsed.
  boost::beast::flat_buffer& buffer() { return buffer_; }

  /// Deadline of what is read or written next.
  void expires_after_s(double seconds);
  /// Writes all of it; false when the client is gone or reads nothing for timeout_s. `bytes` stay
  /// with the caller, which waits.
  net::awaitable<bool> write(const std::string& bytes, double timeout_s);
  /// With TLS, agrees on keys; false when that fails or takes longer. Without, nothing to do.
  net::awaitable<bool> handshake(double timeout_s);
  /// Waits for the first byte of a request.
  net::awaitable<bool> wait_for_bytes(double timeout_s);
  /// Says goodbye so that a client that is still sending gets to read the answer.
  net::awaitable<void> linger();

  /// Ends TLS in order, so that the client knows that nothing is missing.
  net::awaitable<void> shut_tls();

  /// Watches for the end of the client until unwatch(); then gone() is true and `wakeup` hears of
  /// it. A client that closes only its sending side counts as gone.
  void watch(std::shared_ptr<Wakeup> wakeup);
  void unwatch();
  bool gone() const { return gone_; }
  /// Whether it is known without reading that the client has hung up, or sends no more.
  bool left();
  /// Ends everything that is under way.
  void close();

 private:
  void watch_more();
  void on_readable();
  void poll_later();
  void report_gone();
  ByteStream stream_;
  net::steady_timer poll_timer_;
  boost::beast::flat_buffer buffer_;
  std::shared_ptr<Wakeup> wakeup_;
  bool gone_ = false;
};

}  // namespace syrinx
