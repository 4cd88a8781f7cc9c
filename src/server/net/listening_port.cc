#include "server/net/listening_port.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <utility>

#include "base/check.h"

namespace syrinx {
namespace {

/// Pause when the process has no free file descriptor, so that some connections can close.
constexpr auto kDescriptorPause = std::chrono::milliseconds(100);

/// Makes the kernel probe an idle connection, and close it 30 s after its client vanished without
/// closing it (no power, no network): a probe after 15 s, then three more, 5 s apart. Data that the
/// client does not confirm has the same limit.
void probe_when_idle(int socket) {
  const auto set = [&](int level, int name, int value) {
    ::setsockopt(socket, level, name, &value, sizeof value);  // best effort
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 15);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set(IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 30'000);  // ms
}

}  // namespace

net::ip::address parse_address(const std::string& host) {
  SystemError error;
  const auto address = net::ip::make_address(host == "localhost" ? "127.0.0.1" : host, error);
  if (error) throw LoadError("'" + host + "' is not an IP address to listen on");
  return address;
}

ListeningPort::ListeningPort(net::io_context& io, const std::string& host, int port,
                             std::chrono::milliseconds breath)
    : acceptor_(io), pause_(io), breath_(breath) {
  const net::ip::tcp::endpoint at(parse_address(host), static_cast<uint16_t>(port));
  SystemError error;
  acceptor_.open(at.protocol(), error);
  if (!error) acceptor_.set_option(net::socket_base::reuse_address(true), error);
  if (!error) acceptor_.bind(at, error);
  if (!error) acceptor_.listen(net::socket_base::max_listen_connections, error);
  if (error) {
    throw LoadError(concat("cannot listen on ", host, " port ", port, ": ", error.message()));
  }
  number_ = acceptor_.local_endpoint().port();
}

net::awaitable<void> ListeningPort::accept_all(std::function<void(net::ip::tcp::socket)> take) {
  while (acceptor_.is_open()) {
    SystemError error;
    net::ip::tcp::socket socket =
        co_await acceptor_.async_accept(net::redirect_error(net::use_awaitable, error));
    if (!acceptor_.is_open()) break;
    if (!error) {
      probe_when_idle(socket.native_handle());
      take(std::move(socket));
    }
    const auto pause = error ? kDescriptorPause : breath_;
    if (pause.count() == 0) continue;
    pause_.expires_after(pause);
    co_await pause_.async_wait(net::redirect_error(net::use_awaitable, error));
  }
}

void ListeningPort::close() {
  SystemError ignored;
  acceptor_.close(ignored);
  pause_.cancel();
}

}  // namespace syrinx
