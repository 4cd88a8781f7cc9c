// A client's socket with deadlines on all operations, and a way to sleep until an event. Use it
// only in src/server and on the io thread, unless a function says otherwise.
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

/// Lets one coroutine sleep until it is notified. A notification before the sleep is not lost.
class Wakeup : public std::enable_shared_from_this<Wakeup> {
 public:
  explicit Wakeup(net::io_context& io) : io_(io), timer_(io) {}
  net::awaitable<void> wait();
  void notify();
  /// Notifies from any thread.
  void post();

 private:
  net::io_context& io_;
  net::steady_timer timer_;
  bool news_ = false;
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  /// A null `tls` means no TLS.
  Connection(net::ip::tcp::socket socket, std::shared_ptr<TlsContext> tls);

  ByteStream& stream() { return stream_; }
  /// Returns the bytes that were read but not yet parsed.
  boost::beast::flat_buffer& buffer() { return buffer_; }

  /// Sets the deadline of the next reads and writes.
  void expires_after_s(double seconds);
  /// Writes all bytes. Returns false when the client has disconnected or reads nothing for
  /// timeout_s. `bytes` must stay valid until the coroutine ends.
  net::awaitable<bool> write(const std::string& bytes, double timeout_s);
  /// With TLS, makes the handshake; returns false when it fails or takes longer than timeout_s.
  /// Without TLS returns true.
  net::awaitable<bool> handshake(double timeout_s);
  /// Waits for the first byte of a request; returns false if none arrives.
  net::awaitable<bool> wait_for_bytes(double timeout_s);
  /// Closes the connection so that a client that is still sending can read the answer.
  net::awaitable<void> linger();

  /// Sends the message that ends TLS, so that the client knows that the answer is complete.
  net::awaitable<void> shut_tls();

  /// Watches for the client's disconnection until unwatch(). When the client disconnects, gone()
  /// becomes true and `wakeup` is notified. Closing only the sending side counts as disconnecting.
  void watch(std::shared_ptr<Wakeup> wakeup);
  void unwatch();
  bool gone() const { return gone_; }
  /// Returns, without reading, whether the client has closed the connection or its sending side.
  bool left();
  /// Closes the socket, which ends all operations.
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
