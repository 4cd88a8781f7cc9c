#include "server/http/http_server.h"

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/cores.h"
#include "server/http/server_state.h"
#include "server/http/session.h"
#include "server/net/connection.h"
#include "server/net/listening_port.h"
#include "server/net/run_on.h"

namespace syrinx {

using net::ip::tcp;

bool is_loopback(const std::string& host) { return parse_address(host).is_loopback(); }

ServerState::ServerState(ServerOptions server_options)
    : options(std::move(server_options)),
      started_s(now_s()),
      voices(options.voices ? options.voices : std::make_shared<VoiceDesk>(nullptr)),
      keys(options.keys),
      metrics_keys(options.metrics_keys),
      limits(options.limits),
      random(std::random_device{}()),
      salt(random()),
      encoders(static_cast<size_t>(usable_cores())) {
  if (!options.tls_certificate.empty()) {
    tls = make_tls_context(options.tls_certificate, options.tls_key);
  }
}

ServerView ServerState::view() const {
  return {.models = models.get(),
          .keys = &keys,
          .metrics_keys = &metrics_keys,
          .access = &options.access,
          .voices = voices.get(),
          .ears = options.ears.get(),
          .predictions = predictions.get(),
          .turns = turns.get(),
          .decoder = options.decoder,
          .voice_uploads = options.voice_uploads,
          .draining = draining,
          .connections = static_cast<int>(sessions.size()),
          .streams = streams,
          .requests = requests,
          .lost_lines = options.lost_lines ? options.lost_lines() : 0,
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
        port(state.io, state.options.host, state.options.port),
        sweep_timer(state.io),
        work(state.io.get_executor()) {}

  bool has_room(const net::ip::address& address) const;
  void take(tcp::socket socket);
  void close_sessions(bool idle_only);
  net::awaitable<void> sweep_models();

  ServerState state;
  ListeningPort port;
  net::steady_timer sweep_timer;
  // Keeps the io thread running without connections until the destructor.
  net::executor_work_guard<net::io_context::executor_type> work;
  std::thread thread;
};

/// Hashes an address; of IPv6 only the first 64 bits, which a subscriber's addresses share.
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
  if (state.tls) return;  // TLS: the client could not read an answer before the handshake
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
  while (!state.draining) {
    SystemError stopped;
    sweep_timer.expires_after(std::chrono::seconds(1));
    co_await sweep_timer.async_wait(net::redirect_error(net::use_awaitable, stopped));
    if (stopped) break;
    if (state.models) run_later(state.loader, [models = state.models] { models->sweep(now_s()); });
  }
}

HttpServer::HttpServer(ServerOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {
  spawn(impl_->state.io, [impl = impl_.get()] {
    return impl->port.accept_all([impl](tcp::socket socket) { impl->take(std::move(socket)); });
  });
  spawn(impl_->state.io, [impl = impl_.get()] { return impl->sweep_models(); });
  impl_->thread = std::thread([impl = impl_.get()] { impl->state.io.run(); });
}

HttpServer::~HttpServer() {
  // When all sockets are closed, the coroutines end, and then the io thread.
  run_later(impl_->state.io, [impl = impl_.get()] {
    impl->state.draining = true;
    impl->port.close();
    impl->sweep_timer.cancel();
    impl->close_sessions(false);
    impl->work.reset();
  });
  impl_->thread.join();
  impl_->state.loader.join();
  impl_->state.worker.join();
  impl_->state.encoders.join();
}

int HttpServer::port() const { return impl_->port.number(); }

void HttpServer::open(std::shared_ptr<ModelTable> models) {
  ask_of(impl_->state.io, [this, &models] { impl_->state.models = std::move(models); });
}

void HttpServer::open(std::shared_ptr<Backend> backend) {
  open(std::make_shared<ModelTable>(std::move(backend)));
}

void HttpServer::reload(ApiKeys keys, ApiKeys metrics_keys) {
  const ServerOptions& options = impl_->state.options;
  std::shared_ptr<TlsContext> tls;
  if (!options.tls_certificate.empty()) {
    tls = make_tls_context(options.tls_certificate, options.tls_key);
  }
  ask_of(impl_->state.io, [&] {
    impl_->state.keys = std::move(keys);
    impl_->state.metrics_keys = std::move(metrics_keys);
    impl_->state.tls = std::move(tls);
    if (!impl_->state.models) return;
    run_later(impl_->state.loader, [models = impl_->state.models] { models->reload(); });
  });
}

bool HttpServer::drain(double timeout_s) {
  ServerState& state = impl_->state;
  ask_of(state.io, [&] {
    state.draining = true;
    impl_->close_sessions(true);
  });
  // Meanwhile new connections are accepted, so that load balancers can read /ready.
  const auto running = [&state] {
    return static_cast<size_t>(std::count_if(state.sessions.begin(), state.sessions.end(),
                                             [](const Session* each) { return !each->late(); }));
  };
  const bool whole = emptied(state.io, running, timeout_s);
  ask_of(state.io, [this] {
    impl_->port.close();
    impl_->close_sessions(true);
  });
  return whole;
}

}  // namespace syrinx
