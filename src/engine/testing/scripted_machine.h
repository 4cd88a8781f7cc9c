// For tests: the scheduler on a scripted clock, with models, clients that record their output, and
// hooks to make batches late, long or faulty. A real executor runs each batch at its scripted end.
// The clients themselves check I6: one finished(), and no call after it.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/executor.h"
#include "engine/scheduler.h"
#include "engine/virtual_platform.h"

namespace syrinx {

/// Records what is sent to a client, and when.
class ScriptedClient : public Sink {
 public:
  struct Piece {
    double at_s = 0, seconds = 0;
  };
  ScriptedClient(const Platform& clock, int rate_hz) : clock_(clock), rate_hz_(rate_hz) {}

  void audio(std::span<const float> piece) override {
    EXPECT_FALSE(done) << "I6: audio after the end of request " << id;
    samples.insert(samples.end(), piece.begin(), piece.end());
    pieces.push_back({clock_.now(), static_cast<double>(piece.size()) / rate_hz_});
  }
  void text(std::string_view piece, std::span<const ScoredToken> scored) override {
    EXPECT_FALSE(done) << "I6: text after the end of request " << id;
    written += piece;
    tokens.insert(tokens.end(), scored.begin(), scored.end());
  }
  void finished(const Outcome& ended) override {
    EXPECT_FALSE(done) << "I6: request " << id << " ended twice";
    done = true;
    ended_s = clock_.now();
    outcome = ended;
    if (at_end) at_end();
  }
  double unread_s() const override { return unread; }

  RequestId id = 0;
  Active* active = nullptr;  ///< valid until the turn after the request's end
  double unread = 0;
  std::vector<float> samples;
  std::vector<Piece> pieces;
  std::string written;
  std::vector<ScoredToken> tokens;  ///< filled if the request asked for log-probabilities
  bool done = false;
  double ended_s = 0;
  Outcome outcome;
  std::function<void()> at_end = {};  ///< called when the end is reported

 private:
  const Platform& clock_;
  const int rate_hz_;
};

/// The duration of each kind of work, and functions that are called for each batch.
struct Script {
  EngineOptions options = {};  ///< options of the machine and of models added without options
  SlotsSpec slots = {{{1, true}}, true, false};
  std::function<double(const Batch&)> batch_s = [](const Batch&) { return 1e-3; };
  std::function<double(const HostJob&)> job_s = {};
  std::function<void(const Batch&)> begins = {};  ///< called with every batch before it runs
  std::function<void(Batch&)> ends = {};          ///< called with every batch after it has run
};

class ScriptedMachine {
 public:
  /// `executor` runs the batches. If it is null, the machine makes its own.
  explicit ScriptedMachine(Script given, Executor* executor = nullptr)
      : script(std::move(given)),
        own_(executor ? nullptr : std::make_unique<Executor>(1)),
        executor_(executor ? executor : own_.get()),
        platform(
            script.slots,
            {.lay_out_s = {},
             .batch_s = [this](const Batch& b) { return begin(b); },
             .run = [this](Batch& b) { end(b); },
             .job_s = [this](const HostJob& j) { return script.job_s ? script.job_s(j) : 0; }}),
        scheduler(script.options, script.slots, platform) {}
  /// Waits for batches in flight and ends all requests.
  ~ScriptedMachine() {
    for (int i = 0; i < 1000 && scheduler.in_flight() > 0; ++i) next();
    scheduler.end_all();
  }

  ResidentModel& add(std::shared_ptr<const Pipeline> pipeline) {
    return add(std::move(pipeline), script.options);
  }
  ResidentModel& add(std::shared_ptr<const Pipeline> pipeline, const EngineOptions& options) {
    models_.emplace_back(std::move(pipeline), options);
    scheduler.add(models_.back());
    return models_.back();
  }
  ResidentModel& model(size_t i = 0) { return models_[i]; }

  /// Makes the prompts and passes the request to the scheduler immediately. Returns null if the
  /// request was refused; `refusal` has the reason.
  std::shared_ptr<ScriptedClient> submit(const SpeechRequest& request, size_t to = 0) {
    const auto client = make_client(to);
    try {
      auto opened = open_active(model(to), request, client, platform.now());
      if (opened.ok()) return take_in(client, opened.take()), client;
      refusal = opened.error();
    } catch (const std::exception& e) {
      refusal = {ErrorCode::kInternal, e.what()};
    }
    return nullptr;
  }
  /// Passes a request without prompts to the scheduler. A host thread makes the prompts.
  std::shared_ptr<ScriptedClient> submit_soon(const SpeechRequest& request, size_t to = 0) {
    const auto client = make_client(to);
    auto active = make_active(model(to), request, client, platform.now()).take();
    take_in(client, std::move(active));
    return client;
  }

  double now() const { return platform.now(); }
  /// Commits finished batches and jobs, and starts all batches that can start.
  void turn() {
    platform.hand_back(scheduler);
    for (int i = 0; scheduler.dispatch(); ++i) ASSERT_LT(i, 1000) << "a turn without an end";
  }
  /// Returns the time of the next event. Infinite: no event will come.
  double next_s() const { return std::min(platform.next_s(), now() + scheduler.look_again_s()); }
  /// Sets the clock to the next event and takes a turn. Returns false if no event will come.
  bool next() {
    const double at_s = next_s();
    if (!std::isfinite(at_s)) return false;
    platform.set(at_s);
    turn();
    return true;
  }
  void run_until(double at_s) {
    while (!::testing::Test::HasFatalFailure() && next_s() <= at_s) next();
    platform.set(at_s);
    turn();
  }
  /// Takes turns until no event is left. Fails the test after `most_s` seconds.
  void run_to_end(double most_s = 10'000) {
    const double by_s = now() + most_s;
    turn();
    while (!::testing::Test::HasFatalFailure() && next()) {
      ASSERT_LT(now(), by_s) << "it does not end";
    }
  }

  Script script;
  size_t released = 0;  ///< requests whose record has gone

 private:
  std::shared_ptr<ScriptedClient> make_client(size_t to) {
    return std::make_shared<ScriptedClient>(platform,
                                            model(to).pipeline->info().speech.sample_rate);
  }
  void take_in(const std::shared_ptr<ScriptedClient>& client, std::unique_ptr<Active> active) {
    client->id = active->id = ++next_id_;
    client->active = active.get();
    active->place = {this, [](ScriptedMachine* machine) { ++machine->released; }};
    scheduler.take_in(std::move(active));
  }
  double begin(const Batch& batch) {
    if (script.begins) script.begins(batch);
    return script.batch_s(batch);
  }
  void end(Batch& batch) {
    executor_->run(batch);
    if (script.ends) script.ends(batch);
  }

  std::unique_ptr<Executor> own_;
  Executor* executor_;
  std::deque<ResidentModel> models_;
  RequestId next_id_ = 0;

 public:
  VirtualPlatform platform;
  Scheduler scheduler;
  Error refusal;
};

/// Appends the new frames of a chunk to `frames`.
inline void take_fresh(Batch& batch, const ChunkJob& job, std::vector<int32_t>& frames) {
  const auto width = static_cast<size_t>(batch.stage().in_width());
  const auto fresh = job.codes.subspan(job.left * width, job.fresh * width);
  frames.insert(frames.end(), fresh.begin(), fresh.end());
}

}  // namespace syrinx
