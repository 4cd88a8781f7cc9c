#include "server/http/speech_job.h"

#include <cmath>
#include <exception>
#include <utility>

#include "base/check.h"
#include "server/chat/chat_call.h"
#include "server/http/server_state.h"
#include "server/net/connection.h"
#include "server/net/run_on.h"

namespace syrinx {
namespace {

/// Samples that are encoded and written at once; fewer if encoding takes time, so that streams take
/// turns on the threads.
constexpr size_t kCheapSamples = 32 << 10, kCostlySamples = 8 << 10;

}  // namespace

bool is_bad(const Outcome& outcome) {
  return outcome.reason == FinishReason::kError || outcome.reason == FinishReason::kCancelled;
}

SpeechJob::SpeechJob(ServerState& server, std::shared_ptr<Wakeup> wakeup, uint64_t client,
                     std::function<bool()> gone)
    : server_(server), wakeup_(std::move(wakeup)), client_(client), gone_(std::move(gone)) {}

/// Always cancels the request, so that nothing runs for a client that has disconnected.
SpeechJob::~SpeechJob() {
  if (queue_) queue_->detach();
  if (id_) backend_->cancel(*id_);
  // The last stream of an unloaded model destroys the model, which takes time.
  if (backend_) run_later(server_.worker, [backend = std::move(backend_)] {});
}

void SpeechJob::fail(const Error& error) {
  fault_ = to_api_error(error);
  if (error.code == ErrorCode::kInternal) trouble_ = error.message;
}

net::awaitable<void> SpeechJob::start(ReadBody read) {
  const auto parse = [this, &read] {
    auto parsed = read();
    if (auto* fault = std::get_if<ApiError>(&parsed)) {
      fault_ = std::move(*fault);
      return;
    }
    body_ = std::move(std::get<SpeechBody>(parsed));
    check();
  };
  co_await run_on(server_.worker, parse);
  co_await go_on();
}

net::awaitable<void> SpeechJob::start(SpeechBody body) {
  body_ = std::move(body);
  const auto task = [this] { check(); };
  co_await run_on(server_.worker, task);
  co_await go_on();
}

/// Waits for a model or voice that check() did not find.
net::awaitable<void> SpeechJob::go_on() {
  if (!begun()) co_await find_model();
  if (fetch_ && !fault_) co_await wait_for_voice();
}

/// Loads a known model that is not loaded.
net::awaitable<void> SpeechJob::find_model() {
  const auto load = [this, models = server_.models] {
    if (const auto loaded = models->load(body_->model()); !loaded) fail(loaded.error());
  };
  co_await run_on(server_.loader, load);
  if (fault_) co_return;
  const auto task = [this] { check(); };
  co_await run_on(server_.worker, task);
  if (!begun()) fault_ = unavailable("The model was unloaded; try again.");
}

/// Waits for the voice and submits the request. If the client disconnects, encoding stops.
net::awaitable<void> SpeechJob::wait_for_voice() {
  std::optional<Status> status = fetch_->status();
  while (!status && !gone_()) {
    co_await wakeup_->wait();
    status = fetch_->status();
  }
  if (!status) {
    fault_ = unavailable("The client has disconnected.");
  } else if (!*status) {
    fail(status->error());
  } else {
    fetch_->put(call_.request);
    const auto task = [this] { submit(); };
    co_await run_on(server_.worker, task);
  }
  fetch_.reset();
}

/// Checks the body on a worker thread. If nothing has begun() after it, the model must be loaded.
void SpeechJob::check() try {
  auto found = server_.models->find(body_->model());
  if (!found) return fail(found.error());
  backend_ = found.take();
  if (!backend_) return;
  fault_ = refuse_kind(backend_->info(), false);
  if (fault_) return;
  auto call = body_->call(server_.voices->speaker(*backend_), server_.options.strict);
  if (auto* fault = std::get_if<ApiError>(&call)) {
    fault_ = std::move(*fault);
    return;
  }
  call_ = std::move(std::get<SpeechCall>(call));
  call_.request.terms.client = client_;
  body_.reset();
  if (call_.voices.empty()) return submit();
  fetch_ = server_.voices->fetch(backend_, std::exchange(call_.voices, {}), client_,
                                 [wakeup = wakeup_] { wakeup->post(); });
  // A cached voice is used at once, without a wait on the io thread.
  if (const auto status = fetch_->status(); status && *status) {
    fetch_->put(call_.request);
    fetch_.reset();
    submit();
  }
} catch (const std::exception& error) {
  fail({ErrorCode::kInternal, error.what()});
}

/// Submits the request; on a worker thread.
void SpeechJob::submit() try {
  auto encoder = make_encoder(call_.audio);
  if (!encoder) return fail(encoder.error());
  encoder_ = encoder.take();
  queue_ = std::make_shared<AudioQueue>(backend_->info().speech.sample_rate,
                                        [wakeup = wakeup_] { wakeup->post(); });
  const Result<RequestId> id = backend_->submit(call_.request, queue_);
  if (!id) return fail(id.error());
  id_ = id.value();
} catch (const std::exception& error) {
  fail({ErrorCode::kInternal, error.what()});
}

net::awaitable<bool> SpeechJob::pump() {
  samples_.clear();
  const size_t count = queue_->take(samples_, encoder_->cheap() ? kCheapSamples : kCostlySamples);
  unwritten_ += count;
  taken_ += static_cast<int64_t>(count);
  queue_->take_warnings(call_.warnings);
  outcome_ = queue_->end();
  if (outcome_ && outcome_->frames == 0) {  // the queue made this outcome without counting frames
    outcome_->frames = std::llround(outcome_->audio_s * info().speech.frame_rate);
  }
  if (samples_.empty() && !outcome_) co_return false;
  if (encoder_->cheap()) {
    encode();
  } else {
    const auto task = [this] { encode(); };
    co_await run_on(server_.encoders, task);
  }
  co_return true;
}

void SpeechJob::encode() try {
  if (!samples_.empty()) encoder_->encode(samples_, bytes_);
  if (outcome_ && outcome_->audio_s > 0 && !is_bad(*outcome_)) encoder_->flush(bytes_);
} catch (const std::exception& error) {
  fail({ErrorCode::kInternal, error.what()});
}

void SpeechJob::written() { queue_->written(std::exchange(unwritten_, 0)); }

std::vector<TimedWord> SpeechJob::take_words() {
  queue_->take_words(marks_);
  const double speed = call_.audio.speed;
  return take_finished_words(call_.request.say.text, marks_, info().speech.frame_rate * speed,
                             static_cast<double>(taken_) / info().speech.sample_rate / speed,
                             outcome_.has_value());
}

void SpeechJob::state_length(std::string& all) const {
  const std::string first = encoder_->first_bytes();
  if (first.size() <= all.size()) all.replace(0, first.size(), first);
}

ApiError SpeechJob::no_audio() {
  if (outcome_->reason == FinishReason::kError) {
    fail(outcome_->error);
    return *fault_;
  }
  if (outcome_->reason == FinishReason::kCancelled) return unavailable("The server is stopping.");
  return bad_field("input", "'input' has no text that this model can speak.");
}

}  // namespace syrinx
