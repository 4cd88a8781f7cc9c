#include "server/http/transcription_stream.h"

#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "audio/recording.h"
#include "audio/resampler.h"
#include "base/check.h"
#include "base/clock.h"
#include "ears/ears.h"
#include "server/http/server_state.h"
#include "server/net/connection.h"
#include "server/net/run_on.h"
#include "server/transcribe/heard_queue.h"
#include "server/transcribe/transcription_form.h"

namespace syrinx {
namespace {

// Most seconds that decoding is ahead of the recogniser, and the seconds of one piece.
constexpr double kAheadS = 60, kPieceS = 10;
constexpr size_t kFirstPiece = 48'000;  // samples; read before the rate is known

class TranscriptionStream {
 public:
  TranscriptionStream(ServerState& server, std::shared_ptr<Connection> connection,
                      TranscriptionExchange& exchange)
      : server_(server),
        connection_(std::move(connection)),
        exchange_(exchange),
        wakeup_(std::make_shared<Wakeup>(server.io)),
        queue_(std::make_shared<HeardQueue>([wakeup = wakeup_] { wakeup->post(); })) {
    ++server_.streams;
    connection_->watch(wakeup_);
  }
  /// Always cancels the work, so that nothing runs for a client that has disconnected.
  ~TranscriptionStream() {
    queue_->detach();
    listener_.reset();
    connection_->unwatch();
    --server_.streams;
  }
  TranscriptionStream(const TranscriptionStream&) = delete;
  TranscriptionStream& operator=(const TranscriptionStream&) = delete;

  net::awaitable<bool> run();

 private:
  net::awaitable<void> work(void (TranscriptionStream::*task)()) {
    return work(server_.worker, task);
  }
  net::awaitable<void> work(net::thread_pool& on, void (TranscriptionStream::*task)());
  void start();
  void load();
  /// Returns the recogniser that the client named, or the first. Null if its model is not loaded,
  /// or if fault_ is set.
  Result<std::shared_ptr<Recogniser>> find();
  void feed();
  void fail(Error error);
  bool may_feed() const {
    return listener_ && !fed_ && !fault_ && given_s() - queue_->heard_s() < kAheadS;
  }
  double given_s() const { return static_cast<double>(given_) / kHearingRate; }
  void take_news();
  void tell(TranscriptSegment segment, bool whole);
  /// Returns the seconds of the recording; 0 before its decoding has begun, or if they are unknown.
  double length_s() const;
  net::awaitable<bool> send(const std::string& bytes);
  net::awaitable<bool> send_whole(int status, const char* type, const std::string& body,
                                  const Headers& more);
  Headers headers(const char* type) const;
  void log(const std::string& what) const {
    server_.log(concat(exchange_.request_id, " transcription ", what, " audio_s=", given_s(),
                       " total_ms=", static_cast<int>(1e3 * (now_s() - began_s_))));
  }

  ServerState& server_;
  const std::shared_ptr<Connection> connection_;
  TranscriptionExchange& exchange_;
  const std::shared_ptr<Wakeup> wakeup_;
  const std::shared_ptr<HeardQueue> queue_;
  const double began_s_ = now_s();
  TranscriptionCall call_;
  std::shared_ptr<Backend> backend_;  // the model that owns the recogniser; null if no model does
  std::shared_ptr<Recogniser> recogniser_;
  bool unloaded_ = false;  // the recogniser's model must be loaded first
  std::string model_;      // name of that model
  std::optional<RecordingReader> reader_;
  std::optional<Resampler> resampler_;
  std::vector<float> piece_, resampled_;
  std::unique_ptr<Listener> listener_;
  int64_t given_ = 0;  // samples at kHearingRate
  bool fed_ = false;
  std::optional<ApiError> fault_;
  std::optional<Transcript> transcript_;
  std::string trouble_;    // internal error, for the log
  std::string events_;     // events to send
  bool accepted_ = false;  // the first event has been sent
  bool begun_ = false;     // the status line of a stream has been sent
  bool first_ = true;
  std::string told_;  // sent partial text of the next segment
};

void TranscriptionStream::fail(Error error) {
  if (fault_) return;
  if (error.param == "ref_audio") error.param = "file";
  if (error.code == ErrorCode::kInternal) trouble_ = error.message;
  fault_ = to_api_error(error);
}

/// Runs a member function on another thread. An exception becomes the error of the answer.
net::awaitable<void> TranscriptionStream::work(net::thread_pool& on,
                                               void (TranscriptionStream::*task)()) {
  const auto guarded = [this, task] {
    try {
      (this->*task)();
    } catch (const std::exception& error) {
      fail({ErrorCode::kInternal, error.what()});
    }
  };
  co_await run_on(on, guarded);
}

Result<std::shared_ptr<Recogniser>> TranscriptionStream::find() {
  const std::string& name = call_.model;
  const Ears& ears = *server_.options.ears;
  auto apart = ears.find(name);
  const bool any = takes_any_ear(name);
  if (apart.ok() && (ears.asked_for() || !any)) return apart;
  if (server_.models == nullptr) {
    fault_ = unavailable("The model is still being loaded.");
    return std::shared_ptr<Recogniser>();
  }
  const auto named = any ? server_.models->hearer() : server_.models->look_up(name);
  if (!named) return apart;
  auto used = server_.models->find(named->name);  // marks the model as used
  if (!used) return used.error();
  backend_ = used.take();
  model_ = named->name;
  if (!backend_) return std::shared_ptr<Recogniser>();
  if (auto recogniser = backend_->recogniser()) return recogniser;
  return apart;
}

void TranscriptionStream::load() {
  if (const auto loaded = server_.models->load(model_); !loaded) fail(loaded.error());
}

void TranscriptionStream::start() {
  auto form = parse_multipart(exchange_.body, exchange_.content_type);
  if (auto* fault = std::get_if<ApiError>(&form)) {
    fault_ = std::move(*fault);
    return;
  }
  auto call = read_transcription(std::get<std::vector<FormPart>>(form), exchange_.translate);
  if (auto* fault = std::get_if<ApiError>(&call)) {
    fault_ = std::move(*fault);
    return;
  }
  call_ = std::move(std::get<TranscriptionCall>(call));
  call_.listen.client = exchange_.client;
  auto found = find();
  if (!found) return fail(found.error());
  recogniser_ = found.take();
  if (!recogniser_) {
    if (fault_) return;
    if (std::exchange(unloaded_, true)) fault_ = unavailable("The model was unloaded; try again.");
    return;
  }
  const RecogniserInfo& info = recogniser_->info();
  if (call_.words && !info.word_times) {
    fault_ = ApiError{.message = concat("'", info.name, "' does not report the times of words."),
                      .param = "timestamp_granularities",
                      .code = "unsupported_value"};
    return;
  }
  call_.listen.word_times = call_.listen.word_times && info.word_times;
  if (const Status fit = check_listen(info, call_.listen); !fit) return fail(fit.error());
  reader_.emplace(call_.file, RecordingLimits{.max_bytes = server_.options.max_upload_bytes,
                                              .max_s = server_.options.max_heard_s,
                                              .first_channel = info.first_channel,
                                              .helper = server_.options.decoder});
  // An invalid file must not take a place in the queue.
  const Result<bool> more = reader_->read(kFirstPiece, piece_);
  if (!more) return fail(more.error());
  auto listener = recogniser_->open(call_.listen, queue_);
  if (!listener) return fail(listener.error());
  listener_ = listener.take();
  if (reader_->sample_rate() != kHearingRate) {
    resampler_.emplace(reader_->sample_rate(), kHearingRate);
  }
  fed_ = !more.value();
  feed();
}

/// Passes piece_ to the recogniser, and reads the next piece.
void TranscriptionStream::feed() {
  if (resampler_) {
    resampled_.clear();
    resampler_->push(piece_, resampled_);
    if (fed_) resampler_->flush(resampled_);
    listener_->hear(resampled_);
    given_ += static_cast<int64_t>(resampled_.size());
  } else {
    listener_->hear(piece_);
    given_ += static_cast<int64_t>(piece_.size());
  }
  piece_.clear();
  if (fed_) return listener_->end();
  const auto count = static_cast<size_t>(kPieceS * reader_->sample_rate());
  const Result<bool> more = reader_->read(count, piece_);
  if (!more) return fail(more.error());
  if (more.value()) return;
  fed_ = true;
  feed();
}

double TranscriptionStream::length_s() const {
  if (!listener_) return 0;
  if (fed_) return given_s();
  const double claimed_s = reader_ ? reader_->claimed_s() : 0;
  return claimed_s <= server_.options.max_heard_s ? claimed_s : 0;
}

/// Sends the new text of a segment, or of its partial text. Sent text cannot be taken back. If the
/// new text contradicts it, only the last event has the new text.
void TranscriptionStream::tell(TranscriptSegment segment, bool whole) {
  std::string text = segment.text;
  if (text.starts_with(told_)) {
    segment.text.erase(0, told_.size());
    const std::string event = transcript_delta_event(segment, first_, call_.listen.scores);
    first_ = first_ && event.empty();
    events_ += event;
    told_ = std::move(text);
  }
  if (whole) told_.clear();
}

void TranscriptionStream::take_news() {
  if (call_.stream && !accepted_ && length_s() > 0) {
    accepted_ = true;
    events_ += transcript_accepted_event(length_s(), call_.listen.scores);
  }
  HeardQueue::News news = queue_->take();
  if (call_.stream) {
    for (TranscriptSegment& segment : news.segments) tell(std::move(segment), true);
    if (news.partial && !call_.listen.scores) tell({.text = std::move(*news.partial)}, false);
  }
  if (!news.result) return;
  if (!*news.result) {
    fail(news.result->error());
  } else {
    transcript_ = news.result->take();
    if (call_.stream) events_ += transcript_done_event(*transcript_, call_.listen.scores);
  }
}

Headers TranscriptionStream::headers(const char* type) const {
  Headers out = {{"Content-Type", type},
                 {"X-Request-Id", exchange_.request_id},
                 {"Connection", exchange_.keep_alive ? "keep-alive" : "close"}};
  out.insert(out.end(), exchange_.headers.begin(), exchange_.headers.end());
  return out;
}

net::awaitable<bool> TranscriptionStream::send(const std::string& bytes) {
  const bool sent = co_await connection_->write(bytes, server_.options.stall_timeout_s);
  co_return sent;
}

net::awaitable<bool> TranscriptionStream::send_whole(int status, const char* type,
                                                     const std::string& body, const Headers& more) {
  Headers all = headers(type);
  all.emplace_back("Content-Length", std::to_string(body.size()));
  all.insert(all.end(), more.begin(), more.end());
  const std::string bytes = response_head(status, all) + body;
  const bool sent = co_await send(bytes);
  co_return sent&& exchange_.keep_alive;
}

net::awaitable<bool> TranscriptionStream::run() {
  co_await work(&TranscriptionStream::start);
  if (unloaded_ && !fault_) {
    co_await work(server_.loader, &TranscriptionStream::load);
    if (!fault_) co_await work(&TranscriptionStream::start);
  }
  while (true) {
    if (connection_->gone()) break;
    if (fed_ && reader_) {  // nothing borrows from the body after this
      reader_.reset();
      exchange_.body = {};
      exchange_.body_permit.reset();
    }
    if (!fault_) take_news();
    const bool over = fault_ || transcript_;
    if (call_.stream && (begun_ || !fault_) && (over || !events_.empty())) {
      std::string bytes;
      if (!std::exchange(begun_, true)) {
        Headers all = headers("text/event-stream");
        all.emplace_back("Cache-Control", "no-store");
        if (exchange_.chunked) all.emplace_back("Transfer-Encoding", "chunked");
        bytes = response_head(200, all);
      }
      if (fault_) events_ += transcript_error_event(*fault_);
      bytes += exchange_.chunked ? http_chunk(events_) : events_;
      events_.clear();
      if (over && exchange_.chunked) bytes += last_http_chunk({});
      const bool sent = co_await send(bytes);
      if (!sent) break;
    }
    if (over) break;
    if (may_feed()) {
      co_await work(&TranscriptionStream::feed);
    } else {
      co_await wakeup_->wait();
    }
  }
  if (!fault_ && !transcript_) {
    log(begun_ ? "200 client disconnected or not reading"
               : "client disconnected before the first text");
    co_return false;
  }
  if (begun_) {
    log(fault_ ? concat("200 failed: ", fault_->message) : "200");
    co_return exchange_.chunked&& exchange_.keep_alive;
  }
  bool more = false;
  if (fault_) {
    log(concat(fault_->status, " ", fault_->code, trouble_.empty() ? "" : ": ", trouble_));
    const Reply reply = reply_of(*fault_);
    more = co_await send_whole(reply.status, reply.content_type.c_str(), reply.body, reply.headers);
  } else {
    log("200");
    const std::string body = transcription_body(call_, *transcript_);
    const Headers none;
    more = co_await send_whole(200, transcription_type(call_.format), body, none);
  }
  co_return more;
}

}  // namespace

net::awaitable<bool> answer_transcription(ServerState& server,
                                          std::shared_ptr<Connection> connection,
                                          TranscriptionExchange& exchange) {
  TranscriptionStream stream(server, std::move(connection), exchange);
  const bool more = co_await stream.run();
  co_return more;
}

}  // namespace syrinx
