#include "server/http/agent_port.h"

// clang-format off
#include "server/net/run_on.h"
// clang-format on
#include <algorithm>
#include <array>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cmath>
#include <thread>
#include <utility>

#include "base/check.h"
#include "server/models/server_load.h"

namespace syrinx {
namespace {

/// Between two answers: however many ask, they get a bounded share of one core.
constexpr auto kBreath = std::chrono::milliseconds(1);

/// One line, as far as it fits what the kernel has room for, which a line always does.
void tell(net::ip::tcp::socket socket, const std::string& line) {
  SystemError ignored;
  socket.non_blocking(true, ignored);
  // What came already is taken: closing over unread bytes would take the line back.
  std::array<char, 512> asked;
  socket.read_some(net::buffer(asked), ignored);
  socket.write_some(net::buffer(line), ignored);
  socket.shutdown(net::socket_base::shutdown_both, ignored);
}

}  // namespace

std::string agent_answer(const ModelTable* models, bool draining) {
  if (draining) return "down #draining\n";
  if (models == nullptr) return "down #loading\n";
  const double free = 100 * load_of(*models).free();
  return concat("up ", static_cast<int>(std::clamp(std::ceil(free), 1.0, 100.0)), "%\n");
}

struct AgentPort::Impl {
  Impl() : acceptor(io) {}
  net::awaitable<void> answer_all();

  // On the io thread.
  std::shared_ptr<const ModelTable> models;
  bool draining = false;
  net::io_context io{1};
  net::ip::tcp::acceptor acceptor;
  int port = 0;
  std::thread thread;
};

net::awaitable<void> AgentPort::Impl::answer_all() {
  net::steady_timer pause(io);
  while (acceptor.is_open()) {
    SystemError error;
    net::ip::tcp::socket socket =
        co_await acceptor.async_accept(net::redirect_error(net::use_awaitable, error));
    if (!acceptor.is_open()) break;
    if (!error) tell(std::move(socket), agent_answer(models.get(), draining));
    pause.expires_after(error ? 100 * kBreath : kBreath);
    co_await pause.async_wait(net::redirect_error(net::use_awaitable, error));
  }
}

AgentPort::AgentPort(const std::string& host, int port) : impl_(std::make_unique<Impl>()) {
  SystemError error;
  const auto address = net::ip::make_address(host == "localhost" ? "127.0.0.1" : host, error);
  if (error) throw LoadError("'" + host + "' is not an IP address to listen on");
  const net::ip::tcp::endpoint at(address, static_cast<uint16_t>(port));
  net::ip::tcp::acceptor& acceptor = impl_->acceptor;
  acceptor.open(at.protocol(), error);
  if (!error) acceptor.set_option(net::socket_base::reuse_address(true), error);
  if (!error) acceptor.bind(at, error);
  if (!error) acceptor.listen(net::socket_base::max_listen_connections, error);
  if (error) {
    throw LoadError(concat("cannot listen on ", host, " port ", port, ": ", error.message()));
  }
  impl_->port = acceptor.local_endpoint().port();
  spawn(impl_->io, [impl = impl_.get()] { return impl->answer_all(); });
  impl_->thread = std::thread([impl = impl_.get()] { impl->io.run(); });
}

AgentPort::~AgentPort() {
  run_later(impl_->io, [impl = impl_.get()] {
    SystemError ignored;
    impl->acceptor.close(ignored);
  });
  impl_->thread.join();
}

int AgentPort::port() const { return impl_->port; }

void AgentPort::open(std::shared_ptr<const ModelTable> models) {
  run_later(impl_->io, [impl = impl_.get(), models = std::move(models)] { impl->models = models; });
}

void AgentPort::drain() {
  run_later(impl_->io, [impl = impl_.get()] { impl->draining = true; });
}

}  // namespace syrinx
