#include "engine/machine.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "base/fault.h"

namespace syrinx {
namespace {

constexpr double kLeastShare = 1e-3;  // smallest share; with less, background work would never run

EngineOptions checked(EngineOptions options) {
  check_least("threads", options.threads, 0);
  check_least("max_batch", options.max_batch, 1);
  check_least("max_prefill_rows", options.max_prefill_rows, 0);
  check_least("background_share", options.background_share, kLeastShare);
  return options;
}

}  // namespace

void check_least(const char* name, double value, double least) {
  if (value < least) throw LoadError(concat(name, " must be at least ", least, ", not ", value));
}

Machine::Machine(EngineOptions options) : options_(checked(std::move(options))) {
  const SlotsSpec slots = slots_for(options_);
  platform_ = make_platform(
      slots, [this](Batch* batch) { put([&] { returned_.push_back(batch); }); },
      [this](std::unique_ptr<HostJob> job) { put([&] { prepared_.push_back(std::move(job)); }); });
  scheduler_ = std::make_unique<Scheduler>(options_, slots, *platform_);
  thread_ = std::thread([this] { run(); });
}

Machine::~Machine() {
  put([&] { stopping_ = true; });
  thread_.join();
  platform_.reset();  // joins its threads, which call put()
}

/// Changes shared data under the lock, then wakes the engine thread.
void Machine::put(FunctionRef<void()> change) {
  locked(change);
  something_came_.notify_one();
}

// ---------------------------------------------------------------------------- turn

/// Calls `work`. After an exception the engine thread continues: the present requests fail, and
/// later messages and results are handled as usual.
void Machine::safely(FunctionRef<void()> work) {
  if (const auto fault = fault_of(work)) scheduler_->fail_all(*fault);
}

void Machine::run() {
  bool idle = true;
  while (take_what_came(idle)) {
    for (Batch* batch : done_) safely([&] { scheduler_->commit(batch); });
    for (auto& job : jobs_) safely([&] { scheduler_->commit(std::move(job)); });
    for (Mail& letter : mail_) {
      safely([&] {
        letter.call ? letter.call(*scheduler_) : scheduler_->take_in(std::move(letter.arrives));
      });
    }
    done_.clear(), jobs_.clear(), mail_.clear();
    idle = false;
    safely([&] { idle = !scheduler_->dispatch(); });
  }
  scheduler_->end_all();
  locked([&] { publish(); });
}

/// Updates the admissions after a turn of the engine's loop. Needs the lock.
void Machine::publish() {
  for (ResidentModel* model : models_) model->admission.load = scheduler_->load(*model);
  const size_t gone = std::erase_if(models_, [&](const ResidentModel* model) {
    return model->leaving && !scheduler_->has(*model);
  });
  if (gone > 0) model_left_.notify_all();
}

/// Waits while nothing is due. Returns false when the machine must stop and nothing is in flight.
bool Machine::take_what_came(bool idle) {
  std::unique_lock lock(mutex_);
  publish();
  const auto something = [&] {
    return !mailbox_.empty() || !returned_.empty() || !prepared_.empty() ||
           (stopping_ && scheduler_->in_flight() == 0);
  };
  if (idle) {
    const double wait_s = scheduler_->look_again_s();
    if (std::isfinite(wait_s)) {
      something_came_.wait_for(lock, std::chrono::duration<double>(wait_s), something);
    } else {
      something_came_.wait(lock, something);
    }
  }
  done_.swap(returned_);
  jobs_.swap(prepared_);
  mail_.swap(mailbox_);
  return !stopping_ || scheduler_->in_flight() > 0 || !done_.empty() || !jobs_.empty() ||
         !mail_.empty();
}

// ---------------------------------------------------------------------------- front

void Machine::add(ResidentModel& model) {
  model.admission.load.seats = model.options.max_requests;
  put([&] {
    models_.push_back(&model);
    mailbox_.push_back({.call = [&](Scheduler& s) { s.add(model); }});
  });
}

void Machine::remove(ResidentModel& model) {
  post([&](Scheduler& s) { s.remove(model); });
  std::unique_lock lock(mutex_);
  model_left_.wait(lock, [&] { return std::ranges::find(models_, &model) == models_.end(); });
}

void Machine::locked(FunctionRef<void()> f) const {
  const std::lock_guard lock(mutex_);
  f();
}

RequestId Machine::take_in(std::unique_ptr<Active> request) {
  RequestId id = 0;
  put([&] {
    Mail& letter = mailbox_.emplace_back();  // may throw; then the request is still the caller's
    id = request->id = next_id_++;
    letter.arrives = std::move(request);
  });
  return id;
}

void Machine::post(std::function<void(Scheduler&)> letter) {
  put([&] { mailbox_.push_back({.call = std::move(letter)}); });
}

}  // namespace syrinx
