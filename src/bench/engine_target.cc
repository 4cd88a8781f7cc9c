// clang-format off
#include "bench/asio.h"  // must be first; the header explains why
// clang-format on
#include <atomic>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>

#include "base/clock.h"
#include "bench/target.h"

namespace syrinx {
namespace {

/// Passes events from the engine's thread to a meter; notifies the generator's thread at the end.
class MeterSink : public Sink, public std::enable_shared_from_this<MeterSink> {
 public:
  MeterSink(net::io_context& io, int rate_hz, std::shared_ptr<Meter> meter,
            std::function<void()> done)
      : io_(io), rate_hz_(rate_hz), meter_(std::move(meter)), done_(std::move(done)), timer_(io) {}

  void audio(std::span<const float> samples) override { meter_->audio(now_s(), samples, rate_hz_); }

  void finished(const Outcome& outcome) override {
    Failure failure = Failure::kNone;
    if (outcome.reason == FinishReason::kError) failure = Failure::kStatus;
    if (outcome.reason == FinishReason::kCancelled) failure = Failure::kTimeout;
    end(failure, outcome.error.message);
  }

  /// Ends the request; call once, from any thread.
  void end(Failure failure, const std::string& detail) {
    meter_->end(now_s(), failure, detail);
    net::post(io_, [self = shared_from_this()] {
      self->timer_.cancel();
      self->done_();
    });
  }

  /// Cancels the request when its time limit has passed; on the generator's thread.
  void limit(Engine& engine, double timeout_s) {
    timer_.expires_after(std::chrono::duration_cast<std::chrono::steady_clock::duration>(
        std::chrono::duration<double>(timeout_s)));
    timer_.async_wait([self = shared_from_this(), &engine](const SystemError& error) {
      if (const RequestId running = self->id; !error && running != 0) engine.cancel(running);
    });
  }

  std::atomic<RequestId> id = 0;

 private:
  net::io_context& io_;
  const int rate_hz_;
  const std::shared_ptr<Meter> meter_;
  const std::function<void()> done_;
  net::steady_timer timer_;
};

class EngineTarget : public BenchTarget {
 public:
  EngineTarget(net::io_context& io, Engine& engine, SpeechRequest base, double timeout_s)
      : io_(io), engine_(engine), base_(std::move(base)), timeout_s_(timeout_s), prompts_(1) {}
  ~EngineTarget() override { prompts_.join(); }

  std::string describe() const override {
    return engine_.pipeline().info().model + " in this process";
  }

  void start(const Utterance& utterance, std::shared_ptr<Meter> meter,
             std::function<void()> done) override {
    SpeechRequest request = base_;
    request.say.text = utterance.text;
    if (!utterance.voice.empty()) request.voice.name = utterance.voice;
    if (!utterance.language.empty()) request.say.language = utterance.language;
    if (!utterance.instructions.empty()) request.say.instructions = utterance.instructions;
    if (utterance.seed) request.sampling.seed = *utterance.seed;
    meter->sent(now_s());
    const int rate_hz = engine_.pipeline().info().speech.sample_rate;
    auto sink = std::make_shared<MeterSink>(io_, rate_hz, std::move(meter), std::move(done));
    sink->limit(engine_, timeout_s_);
    net::post(prompts_, [this, request = std::move(request), sink = std::move(sink)] {
      const Result<RequestId> id = engine_.submit(request, sink);
      if (id) {
        sink->id = id.value();
      } else {
        sink->end(Failure::kStatus, id.error().message);
      }
    });
  }

 private:
  net::io_context& io_;
  Engine& engine_;
  const SpeechRequest base_;
  const double timeout_s_;
  net::thread_pool prompts_;
};

}  // namespace

std::unique_ptr<BenchTarget> make_engine_target(net::io_context& io, Engine& engine,
                                                SpeechRequest base, double timeout_s) {
  return std::make_unique<EngineTarget>(io, engine, std::move(base), timeout_s);
}

}  // namespace syrinx
