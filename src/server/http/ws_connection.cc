#include "server/http/ws_connection.h"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <chrono>
#include <exception>
#include <utility>

#include "base/ascii.h"
#include "base/check.h"
#include "base/clock.h"
#include "ears/silero.h"
#include "ears/smart_turn.h"
#include "ears/turns.h"
#include "ears/voice_activity.h"
#include "server/access/key_headers.h"
#include "server/chat/chat_call.h"
#include "server/dialects/text_session.h"
#include "server/http/server_state.h"
#include "server/net/connection.h"
#include "server/net/run_on.h"
#include "server/realtime/realtime_models.h"
#include "server/realtime/realtime_talk.h"
#include "server/request/fields.h"
#include "text/utf8.h"

namespace syrinx {
namespace http = boost::beast::http;
namespace websocket = boost::beast::websocket;

namespace {

/// A message with more bytes is read on another thread. Few such messages may be in memory.
constexpr size_t kLongMessage = size_t{256} << 10;
constexpr size_t kReadBytes = size_t{64} << 10;  // most bytes of one read
constexpr auto kTick = std::chrono::milliseconds(250);
/// A client that sends nothing for this long, not even the answer to a ping, is disconnected.
constexpr auto kSilence = std::chrono::seconds(60);
constexpr auto kHandshake = std::chrono::seconds(10);
constexpr auto kFarewell = std::chrono::seconds(2);

std::string_view view(boost::beast::string_view text) { return {text.data(), text.size()}; }

/// Returns the model that a query names, in any dialect's form; an empty string means the first.
std::string model_in(std::string_view text) {
  const Query query(text);
  return query.find("model_id").value_or(query.find("model").value_or(""));
}

/// Chooses among the subprotocols that the client offers. OpenAI's clients also send a key there.
std::string_view chosen_protocol(std::string_view offered) {
  constexpr std::string_view kRealtime = "realtime";
  const std::string_view first = trimmed(offered.substr(0, offered.find(',')));
  return first != kRealtime && offered.find("openai-insecure-api-key.") != offered.npos ? kRealtime
                                                                                        : first;
}

websocket::stream_base::timeout deadlines(std::chrono::steady_clock::duration silence) {
  websocket::stream_base::timeout out{};
  out.handshake_timeout = kHandshake;
  out.idle_timeout = silence;
  out.keep_alive_pings = true;
  return out;
}

/// What admit() and the following functions find for a connection.
struct Admission {
  std::string path, query;
  uint64_t client = 0;
  std::shared_ptr<Backend> backend;  // model of a dialect
  std::unique_ptr<Dialect> dialect;
  std::optional<RealtimeCast> cast;  // set instead of backend and dialect
  ClientLimits::Permit permit;       // permit of ClientLimits for this connection
};

/// Reader, writer and timer of one WebSocket, all on the io thread. The caller waits for the
/// writer's coroutine, which ends after the reader's.
class WsConnection : public std::enable_shared_from_this<WsConnection> {
 public:
  WsConnection(ServerState& server, std::shared_ptr<Connection> connection, std::string id)
      : server_(server),
        connection_(std::move(connection)),
        id_(std::move(id)),
        ws_(connection_->stream()),
        timer_(server.io),
        pause_(server.io),
        wakeup_(std::make_shared<Wakeup>(server.io)),
        room_(std::make_shared<Wakeup>(server.io)) {}

  net::awaitable<void> run(const UpgradeRequest& request, Admission& admission);

 private:
  net::awaitable<bool> accept(const UpgradeRequest& request);
  net::awaitable<void> read_all();
  net::awaitable<bool> read_message(boost::beast::flat_buffer& buffer);
  net::awaitable<void> take_message(std::string_view bytes);
  void hold(bool held);
  net::awaitable<void> sleep(std::chrono::milliseconds time);
  net::awaitable<void> write_all();
  net::awaitable<void> say_goodbye();
  const char* gives_up(double now) const;
  void tick();
  void cut();
  void cut_after(std::chrono::seconds wait);

  ServerState& server_;
  const std::shared_ptr<Connection> connection_;
  const std::string id_;
  websocket::stream<ByteStream&> ws_;
  net::steady_timer timer_;
  net::steady_timer pause_;               // used by the reader's sleep()
  const std::shared_ptr<Wakeup> wakeup_;  // wakes the writer
  const std::shared_ptr<Wakeup> room_;    // wakes the reader when replies were sent
  std::shared_ptr<WireSession> session_;
  std::shared_ptr<void> body_permit_;  // permit for the message that is read, if it is long
  bool reading_ = false;               // the reader is running
  bool held_ = false;                  // the reader waits until replies are sent
  bool leaving_ = false;  // the client has begun the closing handshake; Beast answers it
  bool over_ = false;     // nothing is read or written after this
  bool writing_ = false;
  double reading_since_s_ = 0;  // start of an incomplete long message
};

net::awaitable<bool> WsConnection::accept(const UpgradeRequest& request) {
  connection_->stream().lowest().expires_never();  // the WebSocket has deadlines of its own
  ws_.set_option(deadlines(kSilence));
  ws_.auto_fragment(false);
  const std::string_view wish = view(request[http::field::sec_websocket_protocol]);
  const std::string protocol(chosen_protocol(wish));
  ws_.set_option(
      websocket::stream_base::decorator([id = id_, protocol](websocket::response_type& response) {
        response.set("X-Request-Id", id);
        if (!protocol.empty()) response.set(http::field::sec_websocket_protocol, protocol);
      }));
  ws_.control_callback([this](websocket::frame_type kind, boost::beast::string_view) {
    if (kind != websocket::frame_type::close) return;
    leaving_ = true;
    wakeup_->notify();
  });
  SystemError error;
  co_await ws_.async_accept(request, net::redirect_error(net::use_awaitable, error));
  if (error) server_.log(id_ + " websocket: " + error.message());
  co_return !error;
}

net::awaitable<void> WsConnection::run(const UpgradeRequest& request, Admission& admission) {
  const bool accepted = co_await accept(request);
  if (!accepted) co_return;
  const double began_s = now_s();
  const auto wake = [wakeup = wakeup_] { wakeup->post(); };
  if (admission.cast) {
    session_ = std::make_shared<RealtimeTalk>(std::move(*admission.cast), wake);
  } else {
    const SessionLimits limits{.client = admission.client, .voices = server_.voices.get()};
    session_ = std::make_shared<TextSession>(std::move(admission.backend),
                                             std::move(admission.dialect), limits, wake, began_s);
  }
  ws_.read_message_max(session_->max_message_bytes());
  reading_ = true;
  const auto self = shared_from_this();
  spawn(server_.io, [self] { return self->read_all(); });
  tick();
  co_await write_all();
  co_await say_goodbye();
  server_.log(
      concat(id_, " websocket closed after ", now_s() - began_s, " s, ", session_->summary()));
  if (leaving_ && reading_) {
    session_.reset();  // cancels its speech
    cut_after(kFarewell);
  } else {
    over_ = true;
    cut();
  }
  room_->notify();
  while (reading_) co_await wakeup_->wait();
  over_ = true;
  timer_.cancel();
  pause_.cancel();
  session_.reset();
}

net::awaitable<void> WsConnection::sleep(std::chrono::milliseconds time) {
  SystemError ignored;
  pause_.expires_after(time);
  co_await pause_.async_wait(net::redirect_error(net::use_awaitable, ignored));
}

/// Stops or restarts Beast's check for silence, which works only while messages are read. While the
/// check is stopped, tick() notices when the client disconnects.
void WsConnection::hold(bool held) {
  if (std::exchange(held_, held) == held) return;
  ws_.set_option(deadlines(held ? websocket::stream_base::none() : kSilence));
}

/// Reads a message; returns false at the end. A long message needs one of the places for large
/// bodies, which all connections share.
net::awaitable<bool> WsConnection::read_message(boost::beast::flat_buffer& buffer) {
  do {
    while (buffer.size() > kLongMessage && !body_permit_ && !over_) {
      if (server_.uploads < server_.options.max_uploads) {
        ++server_.uploads;
        body_permit_ =
            std::shared_ptr<void>(&server_, [server = &server_](void*) { --server->uploads; });
        reading_since_s_ = now_s();
      } else {
        hold(true);
        co_await sleep(std::chrono::milliseconds(20));
      }
    }
    if (over_) co_return false;
    hold(false);
    SystemError error;
    co_await ws_.async_read_some(buffer, kReadBytes,
                                 net::redirect_error(net::use_awaitable, error));
    if (error) co_return false;
  } while (!ws_.is_message_done());
  reading_since_s_ = 0;
  co_return true;
}

net::awaitable<void> WsConnection::take_message(std::string_view bytes) {
  const std::shared_ptr<WireSession> session = session_;  // session_ may be reset meanwhile
  const bool binary = ws_.got_binary();
  WireSession::Step step;
  hold(true);
  if (bytes.size() > kLongMessage) {
    const auto task = [&] { step = session->read(bytes, binary); };
    co_await run_on(server_.worker, task);
  } else {
    step = session->read(bytes, binary);
  }
  for (bool more = true; more && session_;) {
    more = step(now_s());
    wakeup_->notify();
    while (!over_ && session_ && session_->full()) co_await room_->wait();
    if (over_) co_return;
    if (more) co_await sleep(std::chrono::milliseconds(0));  // lets other connections run
  }
}

net::awaitable<void> WsConnection::read_all() {
  boost::beast::flat_buffer buffer;
  try {
    while (!over_) {
      const bool whole = co_await read_message(buffer);
      if (!whole || leaving_) break;
      const auto bytes = buffer.cdata();
      const std::string_view message(static_cast<const char*>(bytes.data()), bytes.size());
      co_await take_message(message);
      buffer.consume(buffer.size());
      if (body_permit_) {
        buffer.shrink_to_fit();
        body_permit_.reset();
      }
    }
  } catch (const std::exception& error) {
    server_.log(id_ + " websocket: " + error.what());
  }
  body_permit_.reset();
  reading_ = false;
  over_ = true;
  wakeup_->notify();
}

net::awaitable<void> WsConnection::write_all() {
  try {
    while (!over_ && !leaving_) {
      const SendMessage* frame = session_->next(now_s());
      for (const std::string& trouble : session_->take_troubles()) {
        server_.log(id_ + " failed: " + trouble);
      }
      if (frame == nullptr) {
        if (session_->closing()) break;
        room_->notify();
        co_await wakeup_->wait();
        continue;
      }
      ws_.binary(frame->binary);
      writing_ = true;
      SystemError error;
      const net::const_buffer bytes = net::buffer(frame->bytes);
      co_await ws_.async_write(bytes, net::redirect_error(net::use_awaitable, error));
      writing_ = false;
      if (error) break;
      session_->written();
      room_->notify();
    }
  } catch (const std::exception& error) {
    server_.log(id_ + " websocket: " + error.what());
  }
}

/// Makes the closing handshake after the last frame.
net::awaitable<void> WsConnection::say_goodbye() {
  if (over_ || leaving_ || !session_->closing()) co_return;
  const CloseConnection& close = *session_->closing();
  constexpr size_t kMaxReason = 120;  // a close frame's reason may have 123 bytes
  websocket::close_reason reason(static_cast<websocket::close_code>(close.code));
  std::string text = close.reason.substr(0, kMaxReason);
  while (!text.empty() && !utf8_valid(text)) text.pop_back();
  reason.reason = boost::beast::string_view(text);
  SystemError error;
  co_await ws_.async_close(reason, net::redirect_error(net::use_awaitable, error));
}

/// Returns why the server disconnects the client; null if it need not.
const char* WsConnection::gives_up(double now) const {
  const ServerOptions& options = server_.options;
  if (writing_ && now - connection_->stream().piece_began_s() > options.stall_timeout_s) {
    return "the client does not read";
  }
  if (held_ && connection_->left()) return "the client has disconnected";
  if (reading_since_s_ > 0 && now - reading_since_s_ > options.body_timeout_s) {
    return "the end of a long message did not arrive";
  }
  return nullptr;
}

/// Checks four times a second for a client that does not read or send, and for a server that stops.
void WsConnection::tick() {
  timer_.expires_after(kTick);
  timer_.async_wait([self = shared_from_this()](const SystemError& error) {
    if (error || self->over_ || !self->session_) return;
    const double now = now_s();
    if (const char* fault = self->gives_up(now)) {
      self->server_.log(concat(self->id_, " websocket: ", fault));
      self->over_ = true;
      self->cut();
    } else {
      self->session_->tick(now, self->server_.draining);
      self->tick();
    }
    self->wakeup_->notify();
  });
}

/// Ends all reads and writes.
void WsConnection::cut() { connection_->stream().lowest().close(); }

/// Ends all reads and writes if the client does not close the connection in this time.
void WsConnection::cut_after(std::chrono::seconds wait) {
  timer_.expires_after(wait);
  timer_.async_wait([self = shared_from_this()](const SystemError& error) {
    if (!error) self->cut();
  });
}

/// Checks whether the client may connect.
std::optional<Reply> admit(ServerState& server, const WsUpgrade& upgrade, Admission& admission) {
  const UpgradeRequest& request = upgrade.request;
  const std::string_view target = view(request.target());
  const auto mark = target.find('?');
  admission.path = target.substr(0, mark);
  admission.query = mark == target.npos ? "" : target.substr(mark + 1);
  if (const auto error = refuse_access(server.options.access, upgrade.browser)) {
    return reply_of(*error);
  }
  const KeyHeaders keys{.authorization = view(request[http::field::authorization]),
                        .xi_api_key = view(request["xi-api-key"]),
                        .x_api_key = view(request["X-API-Key"]),
                        .subprotocols = view(request[http::field::sec_websocket_protocol]),
                        .query = admission.query};
  const auto key = server.keys.find(bearer_of(keys));
  if (!key && !server.keys.empty()) {
    return reply_of({.status = 401,
                     .message = "This server requires an API key: Authorization: Bearer <key>.",
                     .code = "invalid_api_key"});
  }
  if (server.draining) return reply_of(unavailable("The server is stopping."));
  if (!server.models) return reply_of(unavailable("The model is still being loaded."));
  admission.client = key ? hash_client(concat("key ", *key), server.salt) : upgrade.address;
  return {};
}

std::optional<ApiError> begin_dialect(ServerState& server, const std::string& id,
                                      Admission& admission) {
  Result<std::shared_ptr<Backend>> found = server.models->find(model_in(admission.query));
  // At /v1/speak "model" may be a voice; make_dialect() refuses the other paths.
  if (!found && !is_websocket_path(admission.path)) found = server.models->find("");
  if (!found) return to_api_error(found.error());
  admission.backend = found.value();
  if (!admission.backend) return to_api_error(server.models->not_loaded(model_in(admission.query)));
  if (auto wrong = refuse_kind(admission.backend->info(), false)) return wrong;
  const DialectRequest wish{
      .path = admission.path, .query = admission.query, .id = id, .strict = server.options.strict};
  ApiError error;
  admission.dialect = make_dialect(wish, server.voices->speaker(*admission.backend), error);
  if (!admission.dialect) return error;
  return {};
}

/// Returns whether the client requests the API's beta; browsers do so by a subprotocol.
bool wants_beta(const UpgradeRequest& request) {
  return view(request["OpenAI-Beta"]).find("realtime=v1") != std::string_view::npos ||
         view(request[http::field::sec_websocket_protocol]).find("openai-beta.realtime-v1") !=
             std::string_view::npos;
}

std::optional<ApiError> begin_realtime(ServerState& server, const WsUpgrade& upgrade,
                                       Admission& admission) {
  auto found = realtime_models(*server.models, *server.options.ears, model_in(admission.query));
  if (!found) return to_api_error(found.error());
  RealtimeModels models = found.take();
  admission.cast.emplace();
  RealtimeCast& cast = *admission.cast;
  cast.writer = std::move(models.writer);
  cast.speaker = std::move(models.speaker);
  cast.ears = server.options.ears.get();
  cast.voices = server.voices.get();
  cast.client = admission.client;
  cast.strict = server.options.strict;
  cast.id = upgrade.id.substr(upgrade.id.find('_') + 1);
  cast.beta = wants_beta(upgrade.request);
  cast.transcribes = Query(admission.query).find("intent") == "transcription";
  cast.open_activity = [vad = server.options.vad](double threshold) {
    return vad ? open_silero_activity(vad, threshold)
               : open_webrtc_activity(strictness_of(threshold));
  };
  if (const auto model = server.options.smart_turn) {
    cast.ask_turn_end = [&server, model](std::vector<float> samples) {
      auto end = std::make_shared<std::atomic<TurnEnd>>(TurnEnd::kUnknown);
      run_later(server.worker, [model, end, samples = std::move(samples)] {
        const bool done = model->probability(samples) >= SmartTurn::kDone;
        end->store(done ? TurnEnd::kDone : TurnEnd::kOpen);
      });
      return end;
    };
  }
  cast.predict = server.options.predict;
  cast.prediction = server.options.prediction;
  cast.predictions = server.predictions;
  cast.turns = server.turns;
  cast.max_transcript_wait_s = server.options.max_transcript_wait_s;
  cast.post = [&server](std::function<void()> task) { run_later(server.worker, std::move(task)); };
  return {};
}

}  // namespace

bool wants_websocket(const UpgradeRequest& request) { return websocket::is_upgrade(request); }

net::awaitable<void> serve_websocket(ServerState& server, std::shared_ptr<Connection> connection,
                                     const WsUpgrade& upgrade, std::optional<Reply>& refusal) {
  Admission admission;
  refusal = admit(server, upgrade, admission);
  if (refusal) co_return;
  const bool realtime = admission.path == kRealtimePath;
  const std::string name = model_in(admission.query);
  if (realtime && server.models->look_up(name)) {
    // Waits for the session's main model; recognisers and other models are used if they are loaded.
    const auto load = [models = server.models, name] { static_cast<void>(models->load(name)); };
    co_await run_on(server.loader, load);
  }
  const auto fault = realtime ? begin_realtime(server, upgrade, admission)
                              : begin_dialect(server, upgrade.id, admission);
  if (fault) {
    refusal = reply_of(*fault);
    co_return;
  }
  ClientLimits::Verdict verdict = server.limits.admit(admission.client, now_s());
  if (verdict.refusal) refusal = reply_of(*verdict.refusal);
  admission.permit = std::move(verdict.permit);
  if (!refusal && connection->buffer().size() > 0) {
    refusal = reply_of({.message = "Wait for the answer to the upgrade before sending frames.",
                        .code = "invalid_http"});
  }
  if (refusal) co_return;
  auto socket = std::make_shared<WsConnection>(server, connection, upgrade.id);
  ++server.streams;
  try {
    co_await socket->run(upgrade.request, admission);
  } catch (const std::exception& error) {
    server.log(upgrade.id + " websocket failed: " + error.what());
  }
  --server.streams;
}

}  // namespace syrinx
