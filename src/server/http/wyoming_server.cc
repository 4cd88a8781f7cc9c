#include "server/http/wyoming_server.h"

#include <array>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <thread>
#include <unordered_set>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "server/dialects/text_session.h"
#include "server/dialects/wyoming.h"
#include "server/net/connection.h"
#include "server/net/listening_port.h"
#include "server/net/run_on.h"

namespace syrinx {
namespace {

using net::ip::tcp;

constexpr auto kLookEvery = std::chrono::milliseconds(250);
/// Send buffer of a socket: small, so that unsent data is counted here. The kernel doubles it.
constexpr int kWyomingSendBytes = 64 << 10;
constexpr double kWyomingLingerS = 2;  // longest wait for the client to close after the last event

class Client;

struct State {
  explicit State(WyomingOptions wyoming, std::shared_ptr<ModelTable> with)
      : options(std::move(wyoming)), models(std::move(with)) {}
  void log(const std::string& line) const {
    if (options.log) options.log(line);
  }
  const WyomingOptions options;
  const std::shared_ptr<ModelTable> models;
  std::unordered_set<Client*> clients;
  bool stopping = false;
  net::thread_pool loader{1};  // loads models
  net::io_context io{1};       // destroyed first: its handlers use the members above
};

// GCC 12 loses temporaries inside a co_await expression: every argument has a name and every
// co_await is a statement of its own.

/// One connection: a reader and a writer, as for a WebSocket, but on a plain byte stream.
class Client : public std::enable_shared_from_this<Client> {
 public:
  Client(State& state, tcp::socket socket)
      : state_(state),
        socket_(std::move(socket)),
        timer_(state.io),
        wakeup_(std::make_shared<Wakeup>(state.io)),
        room_(std::make_shared<Wakeup>(state.io)) {
    state_.clients.insert(this);
    SystemError ignored;
    socket_.set_option(tcp::no_delay(true), ignored);
    socket_.set_option(net::socket_base::send_buffer_size(kWyomingSendBytes), ignored);
  }
  ~Client() { state_.clients.erase(this); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  net::awaitable<void> run();
  void close() {
    over_ = true;
    SystemError ignored;
    socket_.close(ignored);
    wakeup_->notify();
    room_->notify();
  }

 private:
  net::awaitable<void> read_all();
  net::awaitable<void> load_wanted();
  net::awaitable<void> write_all();
  net::awaitable<void> linger();
  void tick();

  State& state_;
  tcp::socket socket_;
  net::steady_timer timer_;
  const std::shared_ptr<Wakeup> wakeup_, room_;  // the writer waits on wakeup_, the reader on room_
  std::unique_ptr<TextSession> session_;
  bool reading_ = false, ended_ = false, over_ = false;
  double writing_since_s_ = 0;
};

net::awaitable<void> Client::run() {
  const double began_s = now_s();
  VoiceDesk* desk = state_.options.voices.get();
  const auto wake = [wakeup = wakeup_] { wakeup->post(); };
  session_ = std::make_unique<TextSession>(
      state_.models->first(), make_wyoming_dialect(state_.models, desk, state_.options.ears, wake),
      SessionLimits{.voices = desk}, wake, began_s);
  reading_ = true;
  const auto self = shared_from_this();
  spawn(state_.io, [self] { return self->read_all(); });
  tick();
  co_await write_all();
  co_await linger();
  close();
  while (reading_) co_await wakeup_->wait();
  timer_.cancel();
  state_.log(concat("wyoming closed after ", now_s() - began_s,
                    " s, utterances=", session_->contexts().utterances()));
  session_.reset();  // cancels its speech
}

net::awaitable<void> Client::read_all() {
  try {
    std::array<char, 4096> bytes;
    const net::mutable_buffer room = net::buffer(bytes);
    while (!over_) {
      SystemError error;
      const size_t count =
          co_await socket_.async_read_some(room, net::redirect_error(net::use_awaitable, error));
      if (error) break;
      session_->message({bytes.data(), count}, true, now_s());
      co_await load_wanted();
      wakeup_->notify();
      while (!over_ && !session_->closing() && session_->full()) co_await room_->wait();
    }
  } catch (const std::exception& error) {
    state_.log(std::string("wyoming: ") + error.what());
  }
  reading_ = false;
  ended_ = true;
  wakeup_->notify();
}

/// Loads the models that the messages so far request.
net::awaitable<void> Client::load_wanted() {
  while (!over_) {
    const std::optional<std::string> wanted = session_->take_wanted_model();
    if (!wanted) co_return;
    Status loaded = ok_status();
    const auto load = [&loaded, models = state_.models, name = *wanted] {
      const auto backend = models->load(name);
      if (!backend) loaded = backend.error();
    };
    co_await run_on(state_.loader, load);
    if (!over_) session_->model_loaded(loaded, now_s());
  }
}

net::awaitable<void> Client::write_all() {
  try {
    while (!over_) {
      // A client that has closed its sending side gets the queued replies, but no further audio.
      if (ended_ && session_->backlog_bytes() == 0) break;
      const SendMessage* frame = session_->next(now_s());
      for (const std::string& trouble : session_->take_troubles()) {
        state_.log("wyoming failed: " + trouble);
      }
      if (frame == nullptr) {
        if (session_->closing()) break;
        room_->notify();  // the recogniser may have caught up
        co_await wakeup_->wait();
        continue;
      }
      writing_since_s_ = now_s();
      SystemError error;
      const net::const_buffer bytes = net::buffer(frame->bytes);
      co_await net::async_write(socket_, bytes, net::redirect_error(net::use_awaitable, error));
      writing_since_s_ = 0;
      if (error) break;
      session_->written();
      room_->notify();
    }
  } catch (const std::exception& error) {
    state_.log(std::string("wyoming: ") + error.what());
  }
}

/// Ends the sending side and reads on, because closing a socket with unread bytes resets the
/// connection, and the client may lose the last event.
net::awaitable<void> Client::linger() {
  SystemError ignored;
  socket_.shutdown(net::socket_base::shutdown_send, ignored);
  const double until_s = now_s() + kWyomingLingerS;
  while (!over_ && !ended_ && now_s() < until_s) co_await wakeup_->wait();  // tick() notifies too
}

void Client::tick() {
  timer_.expires_after(kLookEvery);
  timer_.async_wait([self = shared_from_this()](const SystemError& error) {
    if (error || self->over_ || !self->session_) return;
    const double now = now_s();
    if (self->writing_since_s_ > 0 &&
        now - self->writing_since_s_ > self->state_.options.stall_timeout_s) {
      self->state_.log("wyoming: the client does not read");
      return self->close();
    }
    self->session_->tick(now, self->state_.stopping);
    self->wakeup_->notify();
    self->tick();
  });
}

}  // namespace

struct WyomingServer::Impl {
  Impl(WyomingOptions options, std::shared_ptr<ModelTable> models)
      : state(std::move(options), std::move(models)),
        port(state.io, state.options.host, state.options.port),
        work(state.io.get_executor()) {}

  void take(tcp::socket socket);

  State state;
  ListeningPort port;
  net::executor_work_guard<net::io_context::executor_type> work;
  std::thread thread;
};

void WyomingServer::Impl::take(tcp::socket socket) {
  if (static_cast<int>(state.clients.size()) >= state.options.max_connections) return;
  auto client = std::make_shared<Client>(state, std::move(socket));
  spawn(state.io, [client] { return client->run(); });
}

WyomingServer::WyomingServer(WyomingOptions options, std::shared_ptr<ModelTable> models)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(models))) {
  spawn(impl_->state.io, [impl = impl_.get()] {
    return impl->port.accept_all([impl](tcp::socket socket) { impl->take(std::move(socket)); });
  });
  impl_->thread = std::thread([impl = impl_.get()] { impl->state.io.run(); });
}

WyomingServer::~WyomingServer() {
  // When all sockets are closed, the coroutines end, and then the io thread.
  run_later(impl_->state.io, [impl = impl_.get()] {
    impl->port.close();
    for (Client* client : impl->state.clients) client->close();
    impl->work.reset();
  });
  impl_->thread.join();
}

int WyomingServer::port() const { return impl_->port.number(); }

bool WyomingServer::drain(double timeout_s) {
  State& state = impl_->state;
  ask_of(state.io, [&] {
    state.stopping = true;
    impl_->port.close();
  });
  return emptied(
      state.io, [&] { return state.clients.size(); }, timeout_s);
}

}  // namespace syrinx
