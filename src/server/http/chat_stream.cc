#include "server/http/chat_stream.h"

#include <boost/asio/post.hpp>
#include <ctime>
#include <exception>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "server/chat/chat_wire.h"
#include "server/http/server_state.h"
#include "server/http/speech_job.h"
#include "server/net/connection.h"
#include "server/net/run_on.h"
#include "server/request/answer_queue.h"
#include "server/request/reply.h"

namespace syrinx {
namespace {

class ChatStream {
 public:
  ChatStream(ServerState& server, std::shared_ptr<Connection> connection, SpeechExchange& exchange,
             ChatKind kind)
      : server_(server),
        connection_(std::move(connection)),
        exchange_(exchange),
        kind_(kind),
        wakeup_(std::make_shared<Wakeup>(server.io)) {
    ++server_.streams;
    connection_->watch(wakeup_);
  }
  /// Always cancels the request, so that nothing runs for a client that has disconnected.
  ~ChatStream() {
    if (queue_) queue_->detach();
    if (id_) backend_->cancel(*id_);
    // The last stream of an unloaded model destroys the model, which takes time.
    if (backend_) net::post(server_.worker, [backend = std::move(backend_)] {});
    connection_->unwatch();
    --server_.streams;
  }
  ChatStream(const ChatStream&) = delete;
  ChatStream& operator=(const ChatStream&) = delete;

  net::awaitable<bool> run();

 private:
  net::awaitable<void> start();
  void check();
  void fail(const Error& error);
  net::awaitable<void> wait();
  net::awaitable<bool> refuse();
  net::awaitable<bool> stream();
  net::awaitable<bool> send_whole();
  net::awaitable<void> encode();
  void encode_now();
  AnswerPart part_of(AnswerQueue::News& news);
  Headers headers(const char* type) const;
  void log(const std::string& what) const {
    server_.log(concat(exchange_.request_id, " chat ", what,
                       " total_ms=", static_cast<int>(1e3 * (now_s() - began_s_))));
  }

  ServerState& server_;
  const std::shared_ptr<Connection> connection_;
  SpeechExchange& exchange_;
  const ChatKind kind_;
  const std::shared_ptr<Wakeup> wakeup_;
  const double began_s_ = now_s();
  std::optional<ChatBody> body_;
  ChatCall call_;
  std::shared_ptr<Backend> backend_;
  std::shared_ptr<AnswerQueue> queue_;
  std::unique_ptr<Encoder> encoder_;  // set if the answer is spoken
  std::optional<RequestId> id_;
  std::optional<ApiError> fault_;  // error before the status line
  std::string trouble_;            // internal error, for the log
  std::optional<ToolCallFinder> tools_;
  std::optional<ChatWire> wire_;
  AnswerQueue::News news_;
  std::vector<int32_t> answer_ids_;  // ids of a spoken answer, for later references to it
  std::string transcript_;           // text of the spoken answer
  std::string audio_;                // encoded audio of news_
};

void ChatStream::fail(const Error& error) {
  fault_ = to_api_error(error);
  if (error.code == ErrorCode::kInternal) trouble_ = error.message;
}

net::awaitable<bool> ChatStream::run() {
  co_await start();
  exchange_.body = {};
  exchange_.body_permit.reset();
  if (!fault_) co_await wait();
  if (connection_->gone()) {
    log("client disconnected before the first text");
    co_return false;
  }
  if (!fault_ && news_.outcome && is_bad(*news_.outcome)) {
    const Outcome& outcome = *news_.outcome;
    if (outcome.reason == FinishReason::kError) {
      fail(outcome.error);
    } else {
      fault_ = unavailable("The server is stopping.");
    }
  }
  bool more = false;
  if (fault_) {
    more = co_await refuse();
  } else if (call_.stream) {
    more = co_await stream();
  } else {
    more = co_await send_whole();
  }
  co_return more;
}

/// Reads, checks and submits on other threads, because making a prompt may take a while.
net::awaitable<void> ChatStream::start() {
  const auto read = [this] {
    auto parsed = ChatBody::parse(kind_, exchange_.body);
    if (auto* fault = std::get_if<ApiError>(&parsed)) {
      fault_ = std::move(*fault);
      return;
    }
    body_ = std::move(std::get<ChatBody>(parsed));
    check();
  };
  co_await run_on(server_.worker, read);
  if (fault_ || id_) co_return;
  const auto load = [this, models = server_.models] {
    if (const auto loaded = models->load(body_->model()); !loaded) fail(loaded.error());
  };
  co_await run_on(server_.loader, load);
  if (fault_) co_return;
  const auto again = [this] { check(); };
  co_await run_on(server_.worker, again);
  if (!fault_ && !id_) fault_ = unavailable("The model was unloaded; try again.");
}

/// Checks and submits on a worker thread. If it neither submits nor fails, the model is not loaded:
/// load it, then call again.
void ChatStream::check() try {
  auto found = server_.models->find(body_->model());
  if (!found) return fail(found.error());
  backend_ = found.take();
  if (!backend_) return;
  fault_ = refuse_kind(backend_->info(), true);
  if (fault_) return;
  const PipelineInfo& info = backend_->info();
  ChatAbility ability = ChatAbility::of(info, server_.options.decoder);
  ability.find_answer = [this, &info](const std::string& id) {
    return server_.answers->find(id, exchange_.client, info.model, now_s());
  };
  auto call = body_->call(ability);
  if (auto* fault = std::get_if<ApiError>(&call)) {
    fault_ = std::move(*fault);
    return;
  }
  call_ = std::move(std::get<ChatCall>(call));
  call_.request.terms.client = exchange_.client;
  tools_.emplace(call_.tool_names);
  const std::string id = exchange_.request_id.substr(exchange_.request_id.find('_') + 1);
  wire_.emplace(call_, backend_->info().model, id, static_cast<int64_t>(std::time(nullptr)));
  if (call_.speaks) {
    EncoderOptions how{.format = call_.format, .in_rate_hz = info.speech.sample_rate};
    if (call_.apart) how.out_rate_hz = ChatWire::kApartRate;
    if (call_.apart && call_.stream) how.format = AudioFormat::kPcm;
    auto encoder = make_encoder(how);
    if (!encoder) return fail(encoder.error());
    encoder_ = encoder.take();
  }
  queue_ = std::make_shared<AnswerQueue>(info.speech.sample_rate,
                                         [wakeup = wakeup_] { wakeup->post(); });
  // Processing recordings would occupy this worker thread too long, so submit_soon() does it later.
  const Result<RequestId> accepted = call_.request.writing.recordings.empty()
                                         ? backend_->submit(call_.request, queue_)
                                         : backend_->submit_soon(call_.request, queue_);
  if (!accepted) return fail(accepted.error());
  id_ = accepted.value();
} catch (const std::exception& error) {
  fail({ErrorCode::kInternal, error.what()});
}

/// Waits until the queue has news, or the client has disconnected.
net::awaitable<void> ChatStream::wait() {
  news_ = queue_->take();
  while (news_.empty() && !connection_->gone()) {
    co_await wakeup_->wait();
    news_ = queue_->take();
  }
}

/// Encodes the samples of news_, on another thread if that takes time.
net::awaitable<void> ChatStream::encode() {
  audio_.clear();
  if (!encoder_ || (news_.samples.empty() && !news_.outcome)) co_return;
  if (encoder_->cheap()) {
    encode_now();
  } else {
    const auto task = [this] { encode_now(); };
    co_await run_on(server_.encoders, task);
  }
}

void ChatStream::encode_now() try {
  if (!news_.samples.empty()) encoder_->encode(news_.samples, audio_);
  if (news_.outcome && news_.outcome->audio_s > 0 && !is_bad(*news_.outcome))
    encoder_->flush(audio_);
} catch (const std::exception& error) {
  news_.outcome.emplace();
  news_.outcome->reason = FinishReason::kError;
  news_.outcome->error = {ErrorCode::kInternal, error.what()};
}

AnswerPart ChatStream::part_of(AnswerQueue::News& news) {
  answer_ids_.insert(answer_ids_.end(), news.ids.begin(), news.ids.end());
  ToolCallFinder::Found found = tools_->push(news.text);
  AnswerPart part{std::move(found.text), std::move(found.calls), std::move(news.tokens),
                  std::move(audio_)};
  if (news.outcome) {
    ToolCallFinder::Found rest = tools_->finish();
    part.text += rest.text;
    part.calls.insert(part.calls.end(), rest.calls.begin(), rest.calls.end());
  }
  if (call_.speaks) transcript_ += part.text;
  if (call_.speaks && news.outcome && !is_bad(*news.outcome)) {
    server_.answers->keep(wire_->audio_id(), exchange_.client, backend_->info().model,
                          std::move(transcript_), std::move(answer_ids_), now_s());
  }
  return part;
}

Headers ChatStream::headers(const char* type) const {
  Headers out = {{"Content-Type", type},
                 {"X-Request-Id", exchange_.request_id},
                 {"Connection", exchange_.keep_alive ? "keep-alive" : "close"}};
  if (!fault_) out.emplace_back("X-Seed", std::to_string(call_.request.sampling.seed));
  out.insert(out.end(), exchange_.headers.begin(), exchange_.headers.end());
  return out;
}

/// Answers with the error fault_.
net::awaitable<bool> ChatStream::refuse() {
  const Reply reply = reply_of(*fault_);
  Headers all = headers(reply.content_type.c_str());
  all.emplace_back("Content-Length", std::to_string(reply.body.size()));
  all.insert(all.end(), reply.headers.begin(), reply.headers.end());
  log(concat(reply.status, " ", fault_->code, trouble_.empty() ? "" : ": ", trouble_));
  const std::string bytes = response_head(reply.status, all) + reply.body;
  const bool sent = co_await connection_->write(bytes, server_.options.stall_timeout_s);
  co_return sent&& exchange_.keep_alive;
}

/// Sends the whole answer; news_ has its first part.
net::awaitable<bool> ChatStream::send_whole() {
  AnswerPart whole;
  for (;;) {
    queue_->written(news_.samples.size());
    co_await encode();
    AnswerPart part = part_of(news_);
    whole.audio += part.audio;
    whole.text += part.text;
    whole.calls.insert(whole.calls.end(), part.calls.begin(), part.calls.end());
    whole.tokens.insert(whole.tokens.end(), std::make_move_iterator(part.tokens.begin()),
                        std::make_move_iterator(part.tokens.end()));
    if (news_.outcome) break;
    if (whole.audio.size() > kMaxWholeBytes) {
      fault_ = ApiError{.message = "The answer is too long to be sent whole; request a stream.",
                        .param = "stream"};
      const bool more = co_await refuse();
      co_return more;
    }
    co_await wait();
    if (connection_->gone()) {
      log("client disconnected");
      co_return false;
    }
  }
  if (encoder_) {
    const std::string first = encoder_->first_bytes();
    if (first.size() <= whole.audio.size()) whole.audio.replace(0, first.size(), first);
  }
  const Outcome outcome = *news_.outcome;
  if (is_bad(outcome)) {
    if (outcome.reason == FinishReason::kError) {
      fail(outcome.error);
    } else {
      fault_ = unavailable("The server is stopping.");
    }
    const bool more = co_await refuse();
    co_return more;
  }
  const std::string body = wire_->answer(whole, outcome);
  Headers all = headers("application/json");
  all.emplace_back("Content-Length", std::to_string(body.size()));
  const std::string bytes = response_head(200, all) + body;
  const bool sent = co_await connection_->write(bytes, server_.options.stall_timeout_s);
  log(concat("200 ", finish_reason_name(outcome.reason), " tokens=", outcome.completion_tokens));
  co_return sent&& exchange_.keep_alive;
}

/// Streams the answer; news_ has its first part.
net::awaitable<bool> ChatStream::stream() {
  Headers all = headers("text/event-stream");
  all.emplace_back("Cache-Control", "no-store");
  if (exchange_.chunked) all.emplace_back("Transfer-Encoding", "chunked");
  std::string bytes = response_head(200, all);
  std::string events = wire_->first();
  for (;;) {
    co_await encode();
    const AnswerPart part = part_of(news_);
    events += wire_->next(part);
    const std::optional<Outcome> outcome = news_.outcome;
    const bool bad = outcome && is_bad(*outcome);
    if (bad) {
      if (!outcome->error.message.empty()) log("failed: " + outcome->error.message);
      events += chat_error_event(to_api_error(outcome->error));
    } else if (outcome) {
      events += wire_->last(*outcome);
    }
    if (!events.empty()) bytes += exchange_.chunked ? http_chunk(events) : events;
    if (outcome && exchange_.chunked) bytes += last_http_chunk({});
    if (!bytes.empty()) {
      const bool sent = co_await connection_->write(bytes, server_.options.stall_timeout_s);
      if (!sent) break;
      queue_->written(news_.samples.size());
    }
    bytes.clear();
    events.clear();
    if (outcome) {
      log(concat("200 ", finish_reason_name(outcome->reason),
                 " tokens=", outcome->completion_tokens));
      co_return exchange_.chunked&& exchange_.keep_alive;
    }
    co_await wait();
    if (connection_->gone()) break;
  }
  log("200 client disconnected or not reading");
  co_return false;
}

}  // namespace

net::awaitable<bool> answer_chat(ServerState& server, std::shared_ptr<Connection> connection,
                                 SpeechExchange& exchange, ChatKind kind) {
  ChatStream stream(server, std::move(connection), exchange, kind);
  const bool more = co_await stream.run();
  co_return more;
}

}  // namespace syrinx
