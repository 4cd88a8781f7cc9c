// clang-format off
#include "bench/asio.h"  // must be first; the header explains why
#include "bench/load.h"
// clang-format on

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cmath>
#include <memory>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "bench/arrivals.h"

namespace syrinx {
namespace {

constexpr double kTick_s = 0.01;  // interval at which the generator checks whether it is late
constexpr double kProgress_s = 0.2;

std::string number(double value) {
  return value == std::floor(value) ? concat(static_cast<int64_t>(value)) : concat(value);
}

/// One run. Everything happens on the io thread.
class LoadRun {
 public:
  LoadRun(net::io_context& io, BenchTarget& target, const LoadPoint& point,
          const TrafficOptions& options, const std::function<void(const LoadProgress&)>& progress)
      : io_(io),
        work_(io.get_executor()),
        target_(target),
        point_(point),
        options_(options),
        progress_(progress),
        rounds_(std::max<size_t>(options.texts.size(), 1), options.seed),
        arrival_timer_(io),
        tick_timer_(io) {}

  LoadResult run();

 private:
  struct Client {
    explicit Client(net::io_context& io) : timer(io) {}
    net::steady_timer timer;
    double due_s = 0;
    int made = 0;
  };

  bool clients_loop() const {
    return point_.kind == LoadKind::kStreams || point_.kind == LoadKind::kRealtime;
  }
  double end_s() const { return began_s_ + options_.warmup_s + options_.duration_s; }
  Utterance next_text();
  /// Calls then() at `time_s` on the clock of now_s().
  template <typename F>
  void at(net::steady_timer& timer, double time_s, F then);
  void launch(double due_s, Utterance utterance, std::function<void(const Meter&)> then);
  void next_arrivals();
  void begin_clients();
  void next_of(Client& client, double due_s);
  void tick();
  void stop();
  void look_whether_over();
  LoadProgress state() const;

  net::io_context& io_;
  net::executor_work_guard<net::io_context::executor_type> work_;
  BenchTarget& target_;
  const LoadPoint point_;
  const TrafficOptions& options_;
  const std::function<void(const LoadProgress&)>& progress_;
  Rounds rounds_;
  std::vector<double> arrivals_;  // seconds since the start, for open loop and trace
  size_t next_arrival_ = 0;
  net::steady_timer arrival_timer_, tick_timer_;
  std::vector<std::unique_ptr<Client>> clients_;
  int clients_active_ = 0;

  double began_s_ = 0, told_s_ = 0, tick_due_s_ = 0;
  int sent_ = 0, running_ = 0, failed_ = 0;
  bool over_ = false;
  std::vector<double> lags_;
  LoadResult result_;
};

template <typename F>
void LoadRun::at(net::steady_timer& timer, double time_s, F then) {
  // The clock of now_s() is steady_clock, which has the same origin as the timer's clock.
  timer.expires_at(
      net::steady_timer::time_point(std::chrono::duration_cast<net::steady_timer::duration>(
          std::chrono::duration<double>(time_s))));
  timer.async_wait([then = std::move(then)](const SystemError& error) mutable {
    if (!error) then();
  });
}

Utterance LoadRun::next_text() {
  Utterance utterance;
  utterance.text = options_.texts[rounds_.next()];
  utterance.seed = options_.seed + static_cast<uint64_t>(sent_);
  return utterance;
}

void LoadRun::launch(double due_s, Utterance utterance, std::function<void(const Meter&)> then) {
  auto meter = std::make_shared<Meter>(due_s, began_s_, options_.audible_level);
  meter->record().text_bytes = utterance.text.size();
  meter->record().warmup = due_s - began_s_ < options_.warmup_s;
  ++sent_, ++running_;
  const auto done = [this, meter, then = std::move(then)] {
    --running_;
    lags_.push_back(meter->record().lag_s);
    failed_ += meter->record().ok() ? 0 : 1;
    result_.requests.push_back(meter->record());
    if (options_.give_up && !meter->record().warmup && options_.give_up(meter->record())) {
      stop();
    }
    if (then) then(*meter);
    look_whether_over();
  };
  if (running_ > options_.max_in_flight) {
    meter->sent(now_s());
    meter->end(now_s(), Failure::kSkipped, "too many requests are unfinished");
    done();
  } else {
    target_.start(utterance, meter, done);
  }
}

/// Sends the requests that are due and sleeps until the next one is due.
void LoadRun::next_arrivals() {
  while (next_arrival_ < arrivals_.size()) {
    const size_t i = next_arrival_;
    const double due_s = began_s_ + arrivals_[i];
    if (due_s > now_s()) return at(arrival_timer_, due_s, [this] { next_arrivals(); });
    const bool traced = point_.kind == LoadKind::kTrace;
    ++next_arrival_;
    launch(due_s, traced ? options_.trace[i].utterance : next_text(), {});
  }
  look_whether_over();
}

void LoadRun::begin_clients() {
  std::mt19937_64 random(options_.seed);
  const int count = static_cast<int>(point_.level);
  clients_active_ = count;
  for (int i = 0; i < count; ++i) {
    clients_.push_back(std::make_unique<Client>(io_));
    // Listeners begin at different times.
    const bool spread = point_.kind == LoadKind::kRealtime;
    next_of(*clients_.back(), began_s_ + (spread ? options_.ramp_s * uniform(random) : 0));
  }
}

void LoadRun::next_of(Client& client, double due_s) {
  if (result_.stopped) return;
  const bool counted = point_.kind == LoadKind::kStreams && options_.repeats > 0;
  if (counted ? client.made == options_.repeats : due_s >= end_s()) {
    --clients_active_;
    return look_whether_over();
  }
  ++client.made;
  client.due_s = due_s;
  at(client.timer, due_s, [this, &client] {
    launch(client.due_s, next_text(), [this, &client](const Meter& meter) {
      double next_s = now_s();
      // A listener sends its next request when it has played all audio. After a refusal it waits
      // briefly.
      if (point_.kind == LoadKind::kRealtime) {
        next_s = meter.record().ok() ? std::max(next_s, meter.heard_until()) : next_s + 0.1;
      }
      next_of(client, next_s);
    });
  });
}

LoadProgress LoadRun::state() const {
  LoadProgress progress{.elapsed_s = now_s() - began_s_,
                        .sent = sent_,
                        .done = static_cast<int>(result_.requests.size()),
                        .failed = failed_,
                        .running = running_};
  if (point_.kind == LoadKind::kTrace) {
    progress.total_s = arrivals_.empty() ? 0 : arrivals_.back();
  } else if (point_.kind != LoadKind::kStreams || options_.repeats == 0) {
    progress.total_s = options_.warmup_s + options_.duration_s;
  }
  return progress;
}

void LoadRun::tick() {
  if (over_) return;  // the timer fired before it was cancelled
  const double now = now_s();
  lags_.push_back(now - tick_due_s_);
  if (progress_ && now - told_s_ >= kProgress_s) {
    told_s_ = now;
    progress_(state());
  }
  tick_due_s_ = now + kTick_s;
  at(tick_timer_, tick_due_s_, [this] { tick(); });
}

/// Sends no further requests; unfinished requests continue.
void LoadRun::stop() {
  result_.stopped = true;
  next_arrival_ = arrivals_.size();
  arrival_timer_.cancel();
  if (!clients_loop()) return;
  clients_active_ = 0;
  for (const auto& client : clients_) client->timer.cancel();
}

void LoadRun::look_whether_over() {
  const bool more = clients_loop() ? clients_active_ > 0 : next_arrival_ < arrivals_.size();
  if (more || running_ > 0) return;
  over_ = true;
  tick_timer_.cancel();
  work_.reset();
}

LoadResult LoadRun::run() {
  if (point_.kind == LoadKind::kTrace) {
    for (const TracedUtterance& traced : options_.trace) {
      arrivals_.push_back(traced.at_s / point_.level);
    }
  } else if (point_.kind == LoadKind::kRate) {
    arrivals_ =
        poisson_arrivals(point_.level, options_.warmup_s + options_.duration_s, options_.seed);
  }
  result_.point = point_;
  result_.warmup_s = options_.warmup_s;
  // Begins slightly later, so that the preparation does not delay the first request.
  began_s_ = tick_due_s_ = now_s() + 0.02;
  io_.restart();
  at(tick_timer_, tick_due_s_, [this] { tick(); });
  clients_loop() ? begin_clients() : next_arrivals();
  io_.run();
  result_.wall_s = now_s() - began_s_;
  if (point_.kind == LoadKind::kRate && !result_.stopped) result_.window_s = options_.duration_s;
  result_.lag = percentiles(lags_);
  if (progress_) progress_(state());
  return std::move(result_);
}

}  // namespace

std::string point_name(const LoadPoint& point) {
  switch (point.kind) {
    case LoadKind::kRate:
      return number(point.level) + " req/s";
    case LoadKind::kStreams:
      return number(point.level) + (point.level == 1 ? " stream" : " streams");
    case LoadKind::kRealtime:
      return number(point.level) + (point.level == 1 ? " listener" : " listeners");
    case LoadKind::kTrace:
      return point.level == 1 ? "trace" : "trace x" + number(point.level);
  }
  return "?";
}

LoadResult run_load(net::io_context& io, BenchTarget& target, const LoadPoint& point,
                    const TrafficOptions& options,
                    const std::function<void(const LoadProgress&)>& progress) {
  SYRINX_CHECK(!options.texts.empty() || point.kind == LoadKind::kTrace, "a load needs texts");
  SYRINX_CHECK(point.level > 0, "the level of a load must be above 0, got ", point.level);
  LoadRun run(io, target, point, options, progress);
  return run.run();
}

}  // namespace syrinx
