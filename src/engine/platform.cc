#include "engine/platform.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "base/cores.h"
#include "engine/active.h"
#include "engine/executor_thread.h"

namespace syrinx {
namespace {

constexpr int kHostThreads = 2;

/// Threads that do one job after another, in order of arrival.
class HostThreads {
 public:
  explicit HostThreads(std::function<void(std::unique_ptr<HostJob>)> done)
      : done_(std::move(done)) {
    for (int i = 0; i < kHostThreads; ++i) threads_.emplace_back([this] { loop(); });
  }
  /// Does what was given to it, then ends.
  ~HostThreads() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    given_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  HostThreads(const HostThreads&) = delete;
  HostThreads& operator=(const HostThreads&) = delete;

  void run(std::unique_ptr<HostJob> job) {
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back(std::move(job));
    }
    given_.notify_one();
  }

 private:
  void loop() {
    for (;;) {
      std::unique_ptr<HostJob> job;
      {
        std::unique_lock lock(mutex_);
        given_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
        if (queue_.empty()) return;
        job = std::move(queue_.front());
        queue_.pop_front();
      }
      job->work();
      done_(std::move(job));
    }
  }

  std::function<void(std::unique_ptr<HostJob>)> done_;
  std::mutex mutex_;
  std::condition_variable given_;
  std::deque<std::unique_ptr<HostJob>> queue_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

class ThisMachine : public Platform {
 public:
  ThisMachine(const PlacesSpec& spec, const std::function<void(Batch*)>& returned,
              std::function<void(std::unique_ptr<HostJob>)> prepared)
      : host_(std::move(prepared)) {
    for (const PlaceSpec& place : spec.places) {
      auto executor = std::make_unique<Executor>(place.threads);
      if (spec.inline_run && !place.away) {
        inline_ = std::move(executor);
        threads_.emplace_back();
      } else {
        threads_.push_back(std::make_unique<ExecutorThread>(std::move(executor), returned));
      }
    }
  }
  double now() const override { return now_s(); }
  bool run(int place, Batch& batch) override {
    if (!threads_[place]) {
      inline_->run(batch);
      return true;
    }
    threads_[place]->run(&batch);
    return false;
  }
  void prepare(std::unique_ptr<HostJob> job) override { host_.run(std::move(job)); }

 private:
  std::unique_ptr<Executor> inline_;
  std::vector<std::unique_ptr<ExecutorThread>> threads_;  // null: that place is the inline one
  HostThreads host_;
};

}  // namespace

HostJob::HostJob() = default;
HostJob::~HostJob() = default;

void HostJob::work() {
  try {
    if (request) {
      Result<std::vector<NodeRun>> opened = open_runs(*model, *request);
      if (opened.ok()) {
        runs = opened.take();
      } else {
        result = opened.error();
      }
    } else {
      result = sequence->append_text(text, last);
    }
  } catch (const std::exception& e) {
    result = Error{ErrorCode::kInternal, e.what()};
  } catch (...) {
    result = Error{ErrorCode::kInternal, "a sequence threw something that is not a std::exception"};
  }
}

namespace {

void choose_places(const EngineOptions& options, int threads, PlacesSpec& spec) {
  switch (options.executors.value_or(threads > 1 ? Executors::kSplit : Executors::kShared)) {
    case Executors::kShared:
      spec.places = {{threads, true}};
      spec.inline_run = true;
      break;
    case Executors::kSplit:
      // The first to be filled comes first: chunks go beside the AR stages while that is possible.
      spec.places = {{std::max(1, threads / 2), false}, {std::max(1, threads - threads / 2), true}};
      spec.split = true;
      break;
    case Executors::kEach:
      spec.places.assign(threads, {1, true});
      break;
  }
}

}  // namespace

int PlacesSpec::here() const {
  return static_cast<int>(
      std::count_if(places.begin(), places.end(), [](const PlaceSpec& p) { return !p.away; }));
}

PlacesSpec places_for(const EngineOptions& options) {
  const int threads = options.threads > 0 ? options.threads : usable_cores();
  PlacesSpec spec;
  if (options.away_places > 0 && !options.executors) {
    // The cores are the AR stages', and what comes back from elsewhere waits for none of them.
    spec.places = {{threads, true}};
  } else {
    choose_places(options, threads, spec);
  }
  for (int i = 0; i < options.away_places; ++i) spec.places.push_back({1, false, true});
  return spec;
}

std::unique_ptr<Platform> make_platform(const PlacesSpec& places,
                                        std::function<void(Batch*)> returned,
                                        std::function<void(std::unique_ptr<HostJob>)> prepared) {
  return std::make_unique<ThisMachine>(places, returned, std::move(prepared));
}

}  // namespace syrinx
