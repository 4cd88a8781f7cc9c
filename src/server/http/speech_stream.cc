#include "server/http/speech_stream.h"

#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "server/http/server_state.h"
#include "server/http/speech_job.h"
#include "server/net/connection.h"
#include "server/request/reply.h"
#include "server/request/speech_wire.h"

namespace syrinx {
namespace {

std::variant<SpeechBody, ApiError> read_body(SpeechExchange& exchange) {
  if (!exchange.vendor) return SpeechBody::parse(exchange.body);
  auto body = native_body(*exchange.vendor, exchange.query, exchange.body);
  if (auto* fault = std::get_if<ApiError>(&body)) return std::move(*fault);
  return SpeechBody::parse(std::get<std::string>(body));
}

class SpeechStream {
 public:
  SpeechStream(ServerState& server, std::shared_ptr<Connection> connection,
               SpeechExchange& exchange)
      : server_(server),
        connection_(std::move(connection)),
        exchange_(exchange),
        wakeup_(std::make_shared<Wakeup>(server.io)),
        job_(server, wakeup_, exchange.client,
             [connection = connection_.get()] { return connection->gone(); }) {
    ++server_.streams;
    connection_->watch(wakeup_);
  }
  ~SpeechStream() {
    connection_->unwatch();
    --server_.streams;
  }
  SpeechStream(const SpeechStream&) = delete;
  SpeechStream& operator=(const SpeechStream&) = delete;

  net::awaitable<bool> run();

 private:
  net::awaitable<void> hold();
  net::awaitable<bool> stream();
  net::awaitable<void> gather();
  net::awaitable<bool> answer_whole();
  net::awaitable<bool> refuse();
  net::awaitable<bool> finish(std::string& bytes, const Outcome& outcome);
  std::string head() const;
  std::string wrap(std::string_view data) const;
  std::vector<TimedWord> words();
  Headers common_headers() const;
  void log_warnings() const;
  void log(const std::string& what) const;
  double elapsed_ms() const { return 1e3 * (now_s() - began_s_); }

  ServerState& server_;
  const std::shared_ptr<Connection> connection_;
  SpeechExchange& exchange_;
  const std::shared_ptr<Wakeup> wakeup_;
  const double began_s_ = now_s();
  SpeechJob job_;
  std::optional<ApiError> fault_;  // error before the first byte of the answer
  std::unique_ptr<SpeechWire> wire_;
};

net::awaitable<bool> SpeechStream::run() {
  const SpeechJob::ReadBody read = [this] { return read_body(exchange_); };
  co_await job_.start(read);
  exchange_.body = {};  // frees a possibly large body before a long stream
  exchange_.body_permit.reset();
  co_await hold();
  if (connection_->gone()) {
    log("speech: client disconnected before the first audio");
    co_return false;
  }
  if (!fault_) {
    wire_ = make_speech_wire(job_.call(), exchange_.vendor ? &*exchange_.vendor : nullptr,
                             exchange_.request_id);
  }
  if (!fault_ && job_.call().whole) co_await gather();
  if (connection_->gone()) co_return false;
  bool more = false;
  if (fault_) {
    more = co_await refuse();
  } else if (job_.call().whole) {
    more = co_await answer_whole();
  } else {
    more = co_await stream();
  }
  co_return more;
}

/// Waits for the first audio, so that any earlier failure can still set the status.
net::awaitable<void> SpeechStream::hold() {
  fault_ = job_.fault();
  while (!fault_ && !connection_->gone()) {
    const bool came = co_await job_.pump();
    fault_ = job_.fault();
    if (fault_ || !job_.bytes().empty()) break;
    if (job_.outcome()) {
      fault_ = job_.no_audio();
      break;
    }
    if (!came) co_await wakeup_->wait();
  }
}

/// Answers with the error fault_.
net::awaitable<bool> SpeechStream::refuse() {
  if (exchange_.vendor) name_vendor_fields(*exchange_.vendor, *fault_);
  const Reply reply = reply_of(*fault_);
  Headers headers = {{"Content-Type", reply.content_type},
                     {"Content-Length", std::to_string(reply.body.size())},
                     {"X-Request-Id", exchange_.request_id},
                     {"Connection", exchange_.keep_alive ? "keep-alive" : "close"}};
  headers.insert(headers.end(), exchange_.headers.begin(), exchange_.headers.end());
  headers.insert(headers.end(), reply.headers.begin(), reply.headers.end());
  const std::string& trouble = job_.trouble();
  log(concat("speech ", reply.status, " ", fault_->code, trouble.empty() ? "" : ": ", trouble));
  const std::string bytes = response_head(reply.status, headers) + reply.body;
  const bool sent = co_await connection_->write(bytes, server_.options.stall_timeout_s);
  co_return sent&& exchange_.keep_alive;
}

/// Collects all audio, so that its length is known and any failure can still set the status.
net::awaitable<void> SpeechStream::gather() {
  while (!job_.outcome() && !fault_ && !connection_->gone()) {
    job_.written();  // nothing is sent yet; kMaxWholeBytes limits the audio
    const bool came = co_await job_.pump();
    fault_ = job_.fault();
    if (job_.bytes().size() > kMaxWholeBytes) {
      fault_ =
          ApiError{.message = "The audio is too long for a whole answer; omit 'stream': false.",
                   .param = "stream",
                   .code = "audio_too_long"};
    }
    if (!came && !fault_) co_await wakeup_->wait();
  }
  if (!fault_ && job_.outcome() && is_bad(*job_.outcome())) fault_ = job_.no_audio();
}

net::awaitable<bool> SpeechStream::answer_whole() {
  job_.state_length(job_.bytes());
  const Outcome& outcome = *job_.outcome();
  const std::string body =
      wire_->piece(job_.bytes(), words()) + wire_->end(job_.call(), outcome, job_.info());
  job_.bytes() = {};
  Headers headers = common_headers();
  headers.emplace_back("Content-Length", std::to_string(body.size()));
  headers.emplace_back("X-Finish-Reason", finish_reason_name(outcome.reason));
  log(concat("speech 200 ", finish_reason_name(outcome.reason), " ",
             audio_format_name(job_.call().audio.format),
             " whole total_ms=", static_cast<int>(elapsed_ms()), " audio_s=", outcome.audio_s));
  log_warnings();
  const std::string bytes = response_head(200, headers) + body;
  const bool sent = co_await connection_->write(bytes, server_.options.stall_timeout_s);
  co_return sent&& exchange_.keep_alive;
}

std::vector<TimedWord> SpeechStream::words() {
  return wire_->wants_words() ? job_.take_words() : std::vector<TimedWord>();
}

/// Streams the audio; the job's bytes contain its beginning.
net::awaitable<bool> SpeechStream::stream() {
  const double stall_s = server_.options.stall_timeout_s;
  const double first_ms = elapsed_ms();
  std::string bytes = head();
  log_warnings();
  for (;;) {
    const std::vector<TimedWord> timed = words();
    if (!job_.bytes().empty() || !timed.empty()) bytes += wrap(wire_->piece(job_.bytes(), timed));
    job_.bytes().clear();
    if (const auto& outcome = job_.outcome()) {
      const bool done = co_await finish(bytes, *outcome);
      log(concat("speech 200 ", done ? finish_reason_name(outcome->reason) : "cut off", " ",
                 audio_format_name(job_.call().audio.format), " first_ms=",
                 static_cast<int>(first_ms), " total_ms=", static_cast<int>(elapsed_ms()),
                 " audio_s=", outcome->audio_s, " underruns=", outcome->underruns));
      co_return done&& exchange_.keep_alive;
    }
    const bool sent = co_await connection_->write(bytes, stall_s);
    if (!sent) break;
    bytes.clear();
    job_.written();
    while (job_.bytes().empty() && !job_.outcome() && !job_.fault() && !connection_->gone()) {
      const bool came = co_await job_.pump();
      if (!came) co_await wakeup_->wait();
    }
    if (job_.fault() || connection_->gone()) break;
  }
  log(job_.fault() ? "speech 200 failed: " + job_.trouble()
                   : "speech 200 client disconnected or not reading");
  co_return false;
}

/// Writes the last audio and the end of the body. After a failure omits the end, so that a client
/// does not mistake the audio for complete.
net::awaitable<bool> SpeechStream::finish(std::string& bytes, const Outcome& outcome) {
  const bool bad = is_bad(outcome);
  if (bad && !outcome.error.message.empty()) log("failed: " + outcome.error.message);
  bool whole = true;
  if (!bad) {
    bytes += wrap(wire_->end(job_.call(), outcome, job_.info()));
  } else if (const auto fault = wire_->fault(to_api_error(outcome.error))) {
    bytes += wrap(*fault);
  } else {
    whole = false;
  }
  if (whole && exchange_.chunked) {
    const Headers trailers = {{"X-Finish-Reason", finish_reason_name(outcome.reason)}};
    bytes += last_http_chunk(exchange_.trailers ? trailers : Headers{});
  }
  const bool sent = co_await connection_->write(bytes, server_.options.stall_timeout_s);
  if (!whole && !exchange_.chunked) {
    // Without chunks only a reset of the connection shows that the audio is incomplete.
    SystemError ignored;
    connection_->stream().socket().set_option(net::socket_base::linger(true, 0), ignored);
    connection_->close();
  }
  co_return sent&& whole&& exchange_.chunked;
}

void SpeechStream::log_warnings() const {
  for (const std::string& warning : job_.call().warnings) log("warning: " + warning);
}

Headers SpeechStream::common_headers() const {
  const SpeechCall& call = job_.call();
  std::string type = wire_->content_type();
  if (type.empty()) type = content_type(call.audio, job_.rate_hz());
  Headers headers = {{"Content-Type", type},
                     {"X-Request-Id", exchange_.request_id},
                     {"X-Sample-Rate", std::to_string(job_.rate_hz())},
                     {"X-Seed", std::to_string(call.request.sampling.seed)},
                     {"Cache-Control", "no-store"},
                     {"Connection", exchange_.keep_alive ? "keep-alive" : "close"}};
  for (const std::string& warning : call.warnings) headers.emplace_back("X-Warning", warning);
  headers.insert(headers.end(), exchange_.headers.begin(), exchange_.headers.end());
  return headers;
}

std::string SpeechStream::head() const {
  Headers headers = common_headers();
  if (exchange_.chunked) headers.emplace_back("Transfer-Encoding", "chunked");
  if (exchange_.trailers) headers.emplace_back("Trailer", "X-Finish-Reason");
  // A short text may already have ended.
  if (const auto& outcome = job_.outcome(); outcome && !is_bad(*outcome)) {
    headers.emplace_back("X-Finish-Reason", finish_reason_name(outcome->reason));
  }
  return response_head(200, headers);
}

std::string SpeechStream::wrap(std::string_view data) const {
  if (data.empty()) return "";  // an empty chunk would end the body
  return exchange_.chunked ? http_chunk(data) : std::string(data);
}

void SpeechStream::log(const std::string& what) const {
  server_.log(exchange_.request_id + " " + what);
}

}  // namespace

net::awaitable<bool> stream_speech(ServerState& server, std::shared_ptr<Connection> connection,
                                   SpeechExchange& exchange) {
  SpeechStream stream(server, std::move(connection), exchange);
  const bool more = co_await stream.run();
  co_return more;
}

}  // namespace syrinx
