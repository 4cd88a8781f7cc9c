#include "engine/platform.h"

#include <algorithm>
#include <deque>

#include "base/clock.h"
#include "base/cores.h"
#include "base/fault.h"
#include "base/workers.h"
#include "engine/active.h"
#include "engine/executor.h"

namespace syrinx {
namespace {

constexpr int kHostThreads = 2;

class ThisMachine : public Platform {
 public:
  ThisMachine(const SlotsSpec& spec, const std::function<void(Batch*)>& returned,
              const std::function<void(std::unique_ptr<HostJob>)>& prepared)
      : host_(kHostThreads, [prepared](std::unique_ptr<HostJob> job) {
          job->work();
          prepared(std::move(job));
        }) {
    for (const SlotSpec& slot : spec.slots) {
      Executor& executor = executors_.emplace_back(slot.threads);
      threads_.emplace_back();
      if (spec.inline_run && !slot.remote) continue;
      threads_.back() = std::make_unique<Workers<Batch*>>(1, [&executor, returned](Batch* batch) {
        executor.run(*batch);
        returned(batch);
      });
    }
  }
  double now() const override { return now_s(); }
  bool run(int slot, Batch& batch) override {
    if (!threads_[slot]) {
      executors_[slot].run(batch);
      return true;
    }
    threads_[slot]->run(&batch);
    return false;
  }
  void prepare(std::unique_ptr<HostJob> job) override { host_.run(std::move(job)); }

 private:
  std::deque<Executor> executors_;                         // one per slot
  std::vector<std::unique_ptr<Workers<Batch*>>> threads_;  // one per slot; null for an inline slot
  Workers<std::unique_ptr<HostJob>> host_;
};

}  // namespace

HostJob::HostJob() = default;
HostJob::~HostJob() = default;

void HostJob::work() {
  const std::optional<std::string> fault = fault_of([&] {
    if (!request) {
      result = sequence->append_text(text, last);
      return;
    }
    Result<std::vector<NodeRun>> opened = open_runs(*owner->model, *request);
    if (opened.ok()) {
      runs = opened.take();
    } else {
      result = opened.error();
    }
  });
  if (fault) result = Error{ErrorCode::kInternal, *fault};
}

namespace {

void choose_slots(const EngineOptions& options, int threads, SlotsSpec& spec) {
  switch (options.executors.value_or(threads > 1 ? Executors::kSplit : Executors::kShared)) {
    case Executors::kShared:
      spec.slots = {{threads, true}};
      spec.inline_run = true;
      break;
    case Executors::kSplit:
      // Chunks go to the first free slot, so the slot without AR steps comes first.
      spec.slots = {{std::max(1, threads / 2), false}, {std::max(1, threads - threads / 2), true}};
      spec.split = true;
      break;
    case Executors::kEach:
      spec.slots.assign(threads, {1, true});
      break;
  }
}

}  // namespace

int SlotsSpec::here() const {
  return static_cast<int>(
      std::count_if(slots.begin(), slots.end(), [](const SlotSpec& p) { return !p.remote; }));
}

SlotsSpec slots_for(const EngineOptions& options) {
  const int threads = options.threads > 0 ? options.threads : usable_cores();
  SlotsSpec spec;
  if (options.remote_slots > 0 && !options.executors) {
    // One executor with all cores runs the local AR stages. Results of remote stages need not wait
    // for it.
    spec.slots = {{threads, true}};
  } else {
    choose_slots(options, threads, spec);
  }
  for (int i = 0; i < options.remote_slots; ++i) spec.slots.push_back({1, false, true});
  return spec;
}

std::unique_ptr<Platform> make_platform(const SlotsSpec& slots,
                                        std::function<void(Batch*)> returned,
                                        std::function<void(std::unique_ptr<HostJob>)> prepared) {
  return std::make_unique<ThisMachine>(slots, returned, prepared);
}

}  // namespace syrinx
