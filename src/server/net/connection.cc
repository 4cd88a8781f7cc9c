#include "server/net/connection.h"

#include <poll.h>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>

#include "server/net/run_on.h"

namespace syrinx {
namespace {

constexpr size_t kReadBytes = 4096;
constexpr size_t kMaxEarlyBytes = size_t{64} << 10;  // most bytes read before an answer ended
constexpr size_t kMaxLingerBytes = size_t{8} << 20;  // most bytes that linger() reads
constexpr double kLingerS = 2;
constexpr auto kPollEvery = std::chrono::milliseconds(200);
/// Send buffer of a socket: small, so that unsent data stays in this process, which counts it. The
/// kernel doubles the value. 128 KiB are 2.7 s of 24 kHz audio.
constexpr int kSendBufferBytes = 128 << 10;

std::chrono::steady_clock::duration seconds(double value) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(value));
}

}  // namespace

net::awaitable<void> Wakeup::wait() {
  if (!news_) {
    SystemError ignored;
    timer_.expires_at(net::steady_timer::time_point::max());
    co_await timer_.async_wait(net::redirect_error(net::use_awaitable, ignored));
  }
  news_ = false;
}

void Wakeup::notify() {
  news_ = true;
  timer_.cancel();
}

void Wakeup::post() {
  run_later(io_, [self = shared_from_this()] { self->notify(); });
}

Connection::Connection(net::ip::tcp::socket socket, std::shared_ptr<TlsContext> tls)
    : stream_(std::move(socket), std::move(tls)), poll_timer_(stream_.get_executor()) {
  SystemError ignored;
  stream_.socket().set_option(net::ip::tcp::no_delay(true), ignored);
  stream_.socket().set_option(net::socket_base::send_buffer_size(kSendBufferBytes), ignored);
  stream_.socket().non_blocking(true, ignored);
}

void Connection::expires_after_s(double timeout_s) {
  stream_.lowest().expires_after(seconds(timeout_s));
}

net::awaitable<bool> Connection::handshake(double timeout_s) {
  if (!stream_.has_tls()) co_return true;
  SystemError error;
  expires_after_s(timeout_s);
  co_await stream_.async_handshake(net::redirect_error(net::use_awaitable, error));
  co_return !error;
}

net::awaitable<void> Connection::shut_tls() {
  if (!stream_.has_tls() || gone_) co_return;
  SystemError ignored;
  expires_after_s(kLingerS);
  co_await stream_.async_shutdown(net::redirect_error(net::use_awaitable, ignored));
}

net::awaitable<bool> Connection::write(const std::string& bytes, double timeout_s) {
  SystemError error;
  for (net::const_buffer rest = net::buffer(bytes); rest.size() > 0 && !error;) {
    expires_after_s(timeout_s);
    rest += co_await stream_.async_write_some(rest, net::redirect_error(net::use_awaitable, error));
  }
  co_return !error;
}

net::awaitable<bool> Connection::wait_for_bytes(double timeout_s) {
  if (buffer_.size() > 0) co_return true;
  SystemError error;
  expires_after_s(timeout_s);
  const size_t count = co_await stream_.async_read_some(
      buffer_.prepare(kReadBytes), net::redirect_error(net::use_awaitable, error));
  buffer_.commit(count);
  co_return !error;
}

net::awaitable<void> Connection::linger() {
  SystemError error;
  if (!stream_.has_tls()) stream_.socket().shutdown(net::socket_base::shutdown_send, error);
  expires_after_s(kLingerS);
  for (size_t total = 0; !error && total < kMaxLingerBytes;) {
    buffer_.clear();
    total += co_await stream_.async_read_some(buffer_.prepare(kReadBytes),
                                              net::redirect_error(net::use_awaitable, error));
  }
}

void Connection::watch(std::shared_ptr<Wakeup> wakeup) {
  wakeup_ = std::move(wakeup);
  watch_more();
}

void Connection::watch_more() {
  stream_.socket().async_wait(net::socket_base::wait_read,
                              [self = shared_from_this()](const SystemError& error) {
                                if (!error && self->wakeup_) self->on_readable();
                              });
}

void Connection::report_gone() {
  gone_ = true;
  if (wakeup_) wakeup_->notify();
}

void Connection::on_readable() {
  if (stream_.has_tls()) return poll_later();
  SystemError error;
  buffer_.commit(stream_.socket().read_some(buffer_.prepare(kReadBytes), error));
  if (error && error != net::error::would_block) {
    report_gone();
  } else if (buffer_.size() < kMaxEarlyBytes) {
    watch_more();
  }
}

bool Connection::left() {
  pollfd state{.fd = stream_.socket().native_handle(), .events = POLLRDHUP, .revents = 0};
  return poll(&state, 1, 0) > 0 && (state.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

/// Polls the socket every kPollEvery until the client has closed the connection. Only for TLS:
/// nothing is read meanwhile, so that only the socket's state shows the disconnection.
void Connection::poll_later() {
  if (left()) return report_gone();
  poll_timer_.expires_after(kPollEvery);
  poll_timer_.async_wait([self = shared_from_this()](const SystemError& error) {
    if (!error && self->wakeup_) self->poll_later();
  });
}

void Connection::unwatch() {
  wakeup_.reset();
  poll_timer_.cancel();
  SystemError ignored;
  stream_.socket().cancel(ignored);
}

void Connection::close() {
  report_gone();
  SystemError ignored;
  stream_.socket().close(ignored);
}

}  // namespace syrinx
