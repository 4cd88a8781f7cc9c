#include "server/speech_stream.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "server/audio_queue.h"
#include "server/connection.h"
#include "server/reply.h"
#include "server/server_state.h"
#include "server/speech_call.h"
#include "server/wire.h"

namespace syrinx {
namespace {

/// Samples that are encoded and written at once: little, where encoding takes time, so that many
/// streams take turns on few threads.
constexpr size_t kCheapSamples = 32 << 10, kCostlySamples = 8 << 10;

bool failed(const Outcome& outcome) {
  return outcome.reason == FinishReason::kError || outcome.reason == FinishReason::kCancelled;
}

class SpeechStream {
 public:
  SpeechStream(ServerState& server, std::shared_ptr<Connection> connection,
               const SpeechExchange& exchange)
      : server_(server),
        backend_(server.backend),
        connection_(std::move(connection)),
        exchange_(exchange),
        wakeup_(std::make_shared<Wakeup>(server.io)),
        queue_(std::make_shared<AudioQueue>(
            backend_->info().sample_rate, [wakeup = wakeup_] { wakeup->post(); },
            server.options.max_audio_s)) {
    ++server_.streams;
    connection_->watch(wakeup_);
  }
  /// However it ended: nothing goes on for a client that nobody serves.
  ~SpeechStream() {
    queue_->detach();
    if (id_) backend_->cancel(*id_);
    connection_->unwatch();
    --server_.streams;
  }
  SpeechStream(const SpeechStream&) = delete;
  SpeechStream& operator=(const SpeechStream&) = delete;

  net::awaitable<bool> run();

 private:
  net::awaitable<void> submit();
  void prepare();
  net::awaitable<void> pump();
  void encode();
  net::awaitable<void> hold();
  void end_early(const Outcome& outcome);
  void fail(const Error& error);
  net::awaitable<bool> stream();
  net::awaitable<bool> refuse();
  net::awaitable<bool> finish(std::string& bytes, const Outcome& outcome);
  std::string head() const;
  std::string wrap(std::string_view data) const;
  void log(const std::string& what) const;
  double elapsed_ms() const { return 1e3 * (now_s() - began_s_); }

  ServerState& server_;
  const std::shared_ptr<Backend> backend_;
  const std::shared_ptr<Connection> connection_;
  const SpeechExchange& exchange_;
  const std::shared_ptr<Wakeup> wakeup_;
  const std::shared_ptr<AudioQueue> queue_;
  const double began_s_ = now_s();
  SpeechCall call_;
  std::optional<RequestId> id_;
  std::optional<ApiError> fault_;  // before the first audio
  std::string trouble_;            // what the client is not told of it
  std::unique_ptr<Encoder> encoder_;
  std::optional<Outcome> outcome_;  // the engine is done and all of its audio is encoded
  std::vector<float> samples_;      // taken from the queue, to be encoded
  std::string coded_;               // not yet written
  size_t unwritten_ = 0;            // samples in coded_
};

net::awaitable<bool> SpeechStream::run() {
  co_await submit();
  co_await hold();
  if (connection_->gone()) {
    log("speech: client gone before the first audio");
    co_return false;
  }
  bool more = false;
  if (fault_) {
    more = co_await refuse();
  } else {
    more = co_await stream();
  }
  co_return more;
}

/// On the worker thread: a body may be large and its prompt slow to make.
void SpeechStream::prepare() try {
  auto parsed = parse_speech_call(exchange_.body, backend_->info());
  if (auto* fault = std::get_if<ApiError>(&parsed)) {
    fault_ = std::move(*fault);
    return;
  }
  call_ = std::move(std::get<SpeechCall>(parsed));
  call_.request.client = exchange_.client;
  auto encoder = make_encoder(call_.audio);
  if (!encoder) return fail(encoder.error());
  encoder_ = encoder.take();
  const Result<RequestId> id = backend_->submit(call_.request, queue_);
  if (id) {
    id_ = id.value();
  } else {
    fail(id.error());
  }
} catch (const std::exception& error) {
  fail({ErrorCode::kInternal, error.what()});
}

void SpeechStream::fail(const Error& error) {
  fault_ = to_api_error(error);
  if (error.code == ErrorCode::kInternal) trouble_ = error.message;
}

net::awaitable<void> SpeechStream::submit() {
  auto job = [this]() -> net::awaitable<void> {
    prepare();
    co_return;
  };
  co_await net::co_spawn(server_.worker, std::move(job), net::use_awaitable);
}

/// Encodes what has come meanwhile; at the end of the audio, what the encoder holds back too.
net::awaitable<void> SpeechStream::pump() {
  samples_.clear();
  unwritten_ += queue_->take(samples_, encoder_->cheap() ? kCheapSamples : kCostlySamples);
  outcome_ = queue_->end();
  if (samples_.empty() && !outcome_) co_return;
  if (encoder_->cheap()) {
    encode();
    co_return;
  }
  auto job = [this]() -> net::awaitable<void> {
    encode();
    co_return;
  };
  co_await net::co_spawn(server_.encoders, std::move(job), net::use_awaitable);
}

void SpeechStream::encode() try {
  if (!samples_.empty()) encoder_->encode(samples_, coded_);
  if (outcome_ && outcome_->audio_s > 0 && !failed(*outcome_)) encoder_->flush(coded_);
} catch (const std::exception& error) {
  fail({ErrorCode::kInternal, error.what()});
}

/// Waits for the first audio, so that every failure before it is a proper error.
net::awaitable<void> SpeechStream::hold() {
  while (!fault_ && !connection_->gone()) {
    co_await pump();
    if (fault_ || !coded_.empty()) break;
    if (outcome_) {
      end_early(*outcome_);
      break;
    }
    if (samples_.empty()) co_await wakeup_->wait();
  }
}

void SpeechStream::end_early(const Outcome& outcome) {
  if (outcome.reason == FinishReason::kError) {
    fail(outcome.error);
  } else if (outcome.reason == FinishReason::kCancelled) {
    fault_ = unavailable("The server is stopping.");
  } else {
    fault_ = bad_field("input", "There is nothing in 'input' that this model can speak.");
  }
}

/// Answers with fault_.
net::awaitable<bool> SpeechStream::refuse() {
  const Reply reply = reply_of(*fault_);
  Headers headers = {{"Content-Type", reply.content_type},
                     {"Content-Length", std::to_string(reply.body.size())},
                     {"X-Request-Id", exchange_.request_id},
                     {"Connection", exchange_.keep_alive ? "keep-alive" : "close"}};
  headers.insert(headers.end(), exchange_.headers.begin(), exchange_.headers.end());
  headers.insert(headers.end(), reply.headers.begin(), reply.headers.end());
  log(concat("speech ", reply.status, " ", fault_->code, trouble_.empty() ? "" : ": ", trouble_));
  const std::string bytes = response_head(reply.status, headers) + reply.body;
  const bool sent = co_await connection_->write(bytes, server_.options.stall_timeout_s);
  co_return sent&& exchange_.keep_alive;
}

/// coded_ holds the first audio.
net::awaitable<bool> SpeechStream::stream() {
  const double stall_s = server_.options.stall_timeout_s;
  const double first_ms = elapsed_ms();
  std::string bytes = head();
  for (;;) {
    if (!coded_.empty()) bytes += wrap(coded_);
    coded_.clear();
    if (outcome_) {
      const bool done = co_await finish(bytes, *outcome_);
      log(concat("speech 200 ", done ? finish_reason_name(outcome_->reason) : "cut off", " ",
                 audio_format_name(call_.audio.format), " first_ms=", static_cast<int>(first_ms),
                 " total_ms=", static_cast<int>(elapsed_ms()), " audio_s=", outcome_->audio_s,
                 " underruns=", outcome_->underruns));
      co_return done&& exchange_.keep_alive;
    }
    const bool sent = co_await connection_->write(bytes, stall_s);
    if (!sent) break;
    bytes.clear();
    queue_->written(std::exchange(unwritten_, 0));
    while (coded_.empty() && !outcome_ && !fault_ && !connection_->gone()) {
      co_await pump();
      if (samples_.empty() && !outcome_) co_await wakeup_->wait();
    }
    if (fault_ || connection_->gone()) break;
  }
  log(fault_ ? "speech 200 failed: " + trouble_ : "speech 200 client gone or not reading");
  co_return false;
}

/// Writes the last audio and what ends the body. A failed request ends without that, so that
/// nobody takes half a sentence for all of it.
net::awaitable<bool> SpeechStream::finish(std::string& bytes, const Outcome& outcome) {
  const bool bad = failed(outcome);
  if (bad && !outcome.error.message.empty()) log("failed: " + outcome.error.message);
  if (call_.sse) {
    const std::string last = bad ? error_event(to_api_error(outcome.error))
                                 : done_event(call_, outcome, backend_->info());
    bytes += exchange_.chunked ? http_chunk(last) : last;
  }
  const bool whole = call_.sse || !bad;
  if (whole && exchange_.chunked) {
    const Headers trailers = {{"X-Finish-Reason", finish_reason_name(outcome.reason)}};
    bytes += last_http_chunk(exchange_.trailers ? trailers : Headers{});
  }
  const bool sent = co_await connection_->write(bytes, server_.options.stall_timeout_s);
  if (!whole && !exchange_.chunked) {
    // Without chunks only a reset connection tells a cut from an end.
    SystemError ignored;
    connection_->stream().socket().set_option(net::socket_base::linger(true, 0), ignored);
    connection_->close();
  }
  co_return sent&& whole&& exchange_.chunked;
}

std::string SpeechStream::head() const {
  const int rate = encoder_->rate_hz();
  std::string type = mime_type(call_.audio.format);
  if (call_.audio.format == AudioFormat::kPcm) type += concat("; rate=", rate, "; channels=1");
  Headers headers = {{"Content-Type", call_.sse ? "text/event-stream" : type},
                     {"X-Request-Id", exchange_.request_id},
                     {"X-Sample-Rate", std::to_string(rate)},
                     {"X-Seed", std::to_string(call_.request.seed)},
                     {"Cache-Control", "no-store"},
                     {"Connection", exchange_.keep_alive ? "keep-alive" : "close"}};
  headers.insert(headers.end(), exchange_.headers.begin(), exchange_.headers.end());
  if (exchange_.chunked) headers.emplace_back("Transfer-Encoding", "chunked");
  if (exchange_.trailers) headers.emplace_back("Trailer", "X-Finish-Reason");
  return response_head(200, headers);
}

std::string SpeechStream::wrap(std::string_view data) const {
  std::string out = call_.sse ? audio_event(data) : std::string(data);
  return exchange_.chunked ? http_chunk(out) : out;
}

void SpeechStream::log(const std::string& what) const {
  server_.log(exchange_.request_id + " " + what);
}

}  // namespace

net::awaitable<bool> stream_speech(ServerState& server, std::shared_ptr<Connection> connection,
                                   const SpeechExchange& exchange) {
  SpeechStream stream(server, std::move(connection), exchange);
  const bool more = co_await stream.run();
  co_return more;
}

}  // namespace syrinx
