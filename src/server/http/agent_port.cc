#include "server/http/agent_port.h"

// clang-format off
#include "server/net/listening_port.h"
// clang-format on
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <thread>
#include <utility>

#include "base/check.h"
#include "server/models/server_load.h"
#include "server/net/run_on.h"

namespace syrinx {
namespace {

/// Pause between two answers, so that many connections take only a bounded share of a core.
constexpr auto kBreath = std::chrono::milliseconds(1);

/// Sends a line without waiting; the kernel's buffer always has room for a line.
void send_line(net::ip::tcp::socket socket, const std::string& line) {
  SystemError ignored;
  socket.non_blocking(true, ignored);
  // Reads and drops what has arrived: closing a socket with unread bytes would discard the line.
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
  Impl(const std::string& host, int number) : port(io, host, number, kBreath) {}

  // Used by the io thread only:
  std::shared_ptr<const ModelTable> models;
  bool draining = false;
  net::io_context io{1};
  ListeningPort port;
  std::thread thread;
};

AgentPort::AgentPort(const std::string& host, int port)
    : impl_(std::make_unique<Impl>(host, port)) {
  spawn(impl_->io, [impl = impl_.get()] {
    return impl->port.accept_all([impl](net::ip::tcp::socket socket) {
      send_line(std::move(socket), agent_answer(impl->models.get(), impl->draining));
    });
  });
  impl_->thread = std::thread([impl = impl_.get()] { impl->io.run(); });
}

AgentPort::~AgentPort() {
  run_later(impl_->io, [impl = impl_.get()] { impl->port.close(); });
  impl_->thread.join();
}

int AgentPort::port() const { return impl_->port.number(); }

void AgentPort::open(std::shared_ptr<const ModelTable> models) {
  run_later(impl_->io, [impl = impl_.get(), models = std::move(models)] { impl->models = models; });
}

void AgentPort::drain() {
  run_later(impl_->io, [impl = impl_.get()] { impl->draining = true; });
}

}  // namespace syrinx
