#include "server/http/http_server.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <future>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "server/http/server_state.h"
#include "server/http/session.h"
#include "server/net/connection.h"
#include "server/net/run_on.h"

namespace syrinx {
namespace {

using net::ip::tcp;

net::ip::address parse_address(const std::string& host) {
  SystemError error;
  const auto address = net::ip::make_address(host == "localhost" ? "127.0.0.1" : host, error);
  if (error) throw LoadError("'" + host + "' is not an IP address to listen on");
  return address;
}

}  // namespace

bool is_loopback(const std::string& host) { return parse_address(host).is_loopback(); }

ServerState::ServerState(ServerOptions server_options)
    : options(std::move(server_options)),
      started_s(now_s()),
      voices(options.voices ? options.voices : std::make_shared<VoiceDesk>(nullptr)),
      keys(options.keys),
      limits(options.limits),
      random(std::random_device{}()),
      salt(random()),
      encoders(std::max(1u, std::thread::hardware_concurrency())) {
  if (!options.tls_certificate.empty()) {
    tls = make_tls_context(options.tls_certificate, options.tls_key);
  }
}

ServerView ServerState::view() const {
  return {.models = models.get(),
          .keys = &keys,
          .access = &options.access,
          .voices = voices.get(),
          .ears = options.ears.get(),
          .predictions = predictions.get(),
          .voice_uploads = options.voice_uploads,
          .draining = draining,
          .connections = static_cast<int>(sessions.size()),
          .streams = streams,
          .requests = requests,
          .uptime_s = now_s() - started_s};
}

std::string ServerState::new_request_id() {
  std::string id = "req_";
  for (uint64_t bits = random(), i = 0; i < 16; ++i, bits >>= 4)
    id += "0123456789abcdef"[bits & 15];
  return id;
}

void ServerState::log(const std::string& line) const {
  if (options.log) options.log(line);
}

struct HttpServer::Impl {
  explicit Impl(ServerOptions options)
      : state(std::move(options)),
        acceptor(state.io),
        sweep_timer(state.io),
        work(state.io.get_executor()) {}

  void listen();
  net::awaitable<void> accept_all();
  bool has_room(const net::ip::address& address) const;
  void take(tcp::socket socket);
  /// Runs `task` on the io thread and waits for its result.
  template <typename Task>
  auto on_io(Task task) {
    std::packaged_task<decltype(task())()> packaged(std::move(task));
    auto result = packaged.get_future();
    run_later(state.io, [&packaged] { packaged(); });
    return result.get();
  }
  void close_sessions(bool idle_only);
  net::awaitable<void> sweep_models();

  ServerState state;
  tcp::acceptor acceptor;
  net::steady_timer sweep_timer;
  // Keeps the io thread alive without a connection until the destructor.
  net::executor_work_guard<net::io_context::executor_type> work;
  int port = 0;
  std::thread thread;
};

void HttpServer::Impl::listen() {
  const ServerOptions& options = state.options;
  const tcp::endpoint at(parse_address(options.host), static_cast<uint16_t>(options.port));
  SystemError error;
  acceptor.open(at.protocol(), error);
  if (!error) acceptor.set_option(net::socket_base::reuse_address(true), error);
  if (!error) acceptor.bind(at, error);
  if (!error) acceptor.listen(net::socket_base::max_listen_connections, error);
  if (error) {
    throw LoadError(
        concat("cannot listen on ", options.host, " port ", options.port, ": ", error.message()));
  }
  port = acceptor.local_endpoint().port();
}

net::awaitable<void> HttpServer::Impl::accept_all() {
  net::steady_timer pause(state.io);
  while (acceptor.is_open()) {
    SystemError error;
    tcp::socket socket =
        co_await acceptor.async_accept(net::redirect_error(net::use_awaitable, error));
    if (!error) {
      take(std::move(socket));
    } else if (acceptor.is_open()) {  // out of file descriptors, most likely: let some close
      pause.expires_after(std::chrono::milliseconds(100));
      co_await pause.async_wait(net::redirect_error(net::use_awaitable, error));
    }
  }
}

/// What stands for an address: of IPv6 the first 64 bits, which is what one subscriber has.
uint64_t ServerState::hash_address(const net::ip::address& address) const {
  if (address.is_v4()) return hash_client(address.to_string(), salt);
  const auto v6 = address.to_v6();
  if (v6.is_v4_mapped()) {
    return hash_client(net::ip::make_address_v4(net::ip::v4_mapped, v6).to_string(), salt);
  }
  const auto bytes = v6.to_bytes();
  return hash_client({reinterpret_cast<const char*>(bytes.data()), 8}, salt);
}

bool HttpServer::Impl::has_room(const net::ip::address& address) const {
  if (static_cast<int>(state.sessions.size()) >= state.options.max_connections) return false;
  const int most = state.options.max_connections_per_address;
  if (most <= 0 || address.is_loopback()) return true;
  const auto at = state.addresses.find(state.hash_address(address));
  return at == state.addresses.end() || at->second < most;
}

void HttpServer::Impl::take(tcp::socket socket) {
  SystemError gone;
  const net::ip::address address = socket.remote_endpoint(gone).address();
  if (gone) return;
  if (has_room(address)) {
    auto session = std::make_shared<Session>(state, std::move(socket), address);
    spawn(state.io, [session] { return session->run(); });
    return;
  }
  if (state.tls) return;  // nobody could read an answer
  const Reply reply = reply_of(unavailable("The server has no free connection."));
  const std::string bytes =
      response_head(reply.status, {{"Content-Type", reply.content_type},
                                   {"Content-Length", std::to_string(reply.body.size())},
                                   {"Retry-After", "1"},
                                   {"X-Request-Id", state.new_request_id()},
                                   {"Connection", "close"}}) +
      reply.body;
  SystemError ignored;
  socket.non_blocking(true, ignored);
  socket.write_some(net::buffer(bytes), ignored);
}

void HttpServer::Impl::close_sessions(bool idle_only) {
  for (Session* session : state.sessions) {
    if (!idle_only || session->idle()) session->close();
  }
}

net::awaitable<void> HttpServer::Impl::sweep_models() {
  while (acceptor.is_open()) {
    SystemError stopped;
    sweep_timer.expires_after(std::chrono::seconds(1));
    co_await sweep_timer.async_wait(net::redirect_error(net::use_awaitable, stopped));
    if (stopped) break;
    if (state.models) run_later(state.loader, [models = state.models] { models->sweep(now_s()); });
  }
}

HttpServer::HttpServer(ServerOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {
  impl_->listen();
  spawn(impl_->state.io, [impl = impl_.get()] { return impl->accept_all(); });
  spawn(impl_->state.io, [impl = impl_.get()] { return impl->sweep_models(); });
  impl_->thread = std::thread([impl = impl_.get()] { impl->state.io.run(); });
}

HttpServer::~HttpServer() {
  // With every socket closed the coroutines end by themselves, and so does the io thread.
  run_later(impl_->state.io, [impl = impl_.get()] {
    impl->state.draining = true;
    SystemError ignored;
    impl->acceptor.close(ignored);
    impl->sweep_timer.cancel();
    impl->close_sessions(false);
    impl->work.reset();
  });
  impl_->thread.join();
  impl_->state.loader.join();
  impl_->state.worker.join();
  impl_->state.encoders.join();
}

int HttpServer::port() const { return impl_->port; }

void HttpServer::open(std::shared_ptr<ModelTable> models) {
  impl_->on_io([this, &models] { impl_->state.models = std::move(models); });
}

void HttpServer::open(std::shared_ptr<Backend> backend) {
  open(std::make_shared<ModelTable>(std::move(backend)));
}

void HttpServer::reload(ApiKeys keys) {
  const ServerOptions& options = impl_->state.options;
  std::shared_ptr<TlsContext> tls;
  if (!options.tls_certificate.empty()) {
    tls = make_tls_context(options.tls_certificate, options.tls_key);
  }
  impl_->on_io([&] {
    impl_->state.keys = std::move(keys);
    impl_->state.tls = std::move(tls);
    if (!impl_->state.models) return;
    run_later(impl_->state.loader, [models = impl_->state.models] { models->reload(); });
  });
}

bool HttpServer::drain(double timeout_s) {
  impl_->on_io([this] {
    impl_->state.draining = true;
    SystemError ignored;
    impl_->acceptor.close(ignored);
    impl_->close_sessions(true);
  });
  const double deadline_s = now_s() + timeout_s;
  const auto open = [this] {
    return impl_->on_io([this] { return impl_->state.sessions.size(); });
  };
  while (open() > 0) {
    if (now_s() > deadline_s) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

}  // namespace syrinx
