#include "server/net/listening_port.h"

#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <optional>

#include "server/net/run_on.h"

namespace syrinx {
namespace {

int option(int socket, int level, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  EXPECT_EQ(::getsockopt(socket, level, name, &value, &size), 0);
  return value;
}

/// A client that vanishes without closing its connection must not keep its seat.
TEST(ListeningPort, ProbesIdleConnections) {
  net::io_context io;
  ListeningPort port(io, "127.0.0.1", 0);
  net::ip::tcp::socket client(io);
  client.connect({parse_address("127.0.0.1"), static_cast<uint16_t>(port.number())});
  std::optional<net::ip::tcp::socket> taken;
  spawn(io, [&] {
    return port.accept_all([&](net::ip::tcp::socket socket) { taken = std::move(socket); });
  });
  while (!taken) io.run_one();
  const int socket = taken->native_handle();
  EXPECT_EQ(option(socket, SOL_SOCKET, SO_KEEPALIVE), 1);
  const int lost_s =
      option(socket, IPPROTO_TCP, TCP_KEEPIDLE) +
      option(socket, IPPROTO_TCP, TCP_KEEPINTVL) * option(socket, IPPROTO_TCP, TCP_KEEPCNT);
  EXPECT_EQ(lost_s, 30);
  EXPECT_EQ(option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT), 30'000);
  port.close();
  io.run();
}

}  // namespace
}  // namespace syrinx
