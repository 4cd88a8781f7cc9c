#include "engine/machine.h"

#include <chrono>
#include <cmath>
#include <condition_variable>
#include <list>
#include <mutex>
#include <thread>
#include <utility>

#include "engine/scheduler.h"

namespace syrinx {
namespace {

/// A message to the engine thread: a function to call with the scheduler, or a new request.
struct Mail {
  std::function<void(Scheduler&)> call = {};
  std::list<std::unique_ptr<Active>> arrives = {};  ///< a request of `model`, or empty
  ResidentModel* model = nullptr;
};

constexpr double kLeastShare = 1e-3;  // smallest share; with less, background work would never run

void check(const EngineOptions& options) {
  const auto at_least = [](const char* name, double value, double least) {
    if (value < least) throw LoadError(concat(name, " must be at least ", least, ", not ", value));
  };
  at_least("threads", options.threads, 0);
  at_least("max_batch", options.max_batch, 1);
  at_least("max_prefill_rows", options.max_prefill_rows, 1);
  at_least("background_share", options.background_share, kLeastShare);
}

}  // namespace

struct Machine::Impl {
  EngineOptions options;

  // Data shared with callers, executors and host threads, under `mutex`.
  mutable std::mutex mutex;
  std::condition_variable something_came, request_ended, model_left;
  std::vector<Mail> mailbox;
  std::vector<Batch*> returned;
  std::vector<std::unique_ptr<HostJob>> prepared;
  std::map<ResidentModel*, ModelAdmission*> admissions;
  RequestId next_id = 1;
  bool stopping = false;

  // Data that only the engine thread uses.
  std::vector<Mail> mail;
  std::vector<Batch*> done;
  std::vector<std::unique_ptr<HostJob>> jobs;
  std::vector<Scheduler::Ended> ended;
  std::unique_ptr<Platform> platform;
  std::unique_ptr<Scheduler> scheduler;
  std::thread thread;

  explicit Impl(const EngineOptions& o) : options(o) {
    const SlotsSpec slots = slots_for(options);
    platform = make_platform(
        slots, [this](Batch* batch) { post([&] { returned.push_back(batch); }); },
        [this](std::unique_ptr<HostJob> job) {
          post([&] { prepared.push_back(std::move(job)); });
        });
    scheduler = std::make_unique<Scheduler>(options, slots, *platform);
    thread = std::thread([this] { run(); });
  }

  ~Impl() {
    post([&] { stopping = true; });
    thread.join();
    platform.reset();  // joins its threads, which call post()
  }

  template <typename F>
  void post(F&& f) {
    {
      const std::lock_guard lock(mutex);
      f();
    }
    something_came.notify_one();
  }

  void run();
  template <typename F>
  void safely(F&& work);
  bool take_what_came(bool idle);
  void publish();
  void open(Mail& letter);
};

// ---------------------------------------------------------------------------- turn

/// Calls `work`. After an exception the engine thread continues: the present requests fail, and
/// later messages and results are handled as usual.
template <typename F>
void Machine::Impl::safely(F&& work) {
  try {
    work();
  } catch (const std::exception& e) {
    scheduler->fail_all(e.what());
  } catch (...) {
    scheduler->fail_all("unknown exception type");
  }
}

void Machine::Impl::run() {
  bool idle = true;
  while (take_what_came(idle)) {
    idle = false;
    for (Batch* batch : done) safely([&] { scheduler->commit(batch); });
    for (auto& job : jobs) safely([&] { scheduler->commit(std::move(job)); });
    for (Mail& letter : mail) safely([&] { open(letter); });
    safely([&] { idle = !scheduler->dispatch(); });
  }
  scheduler->end_all();
  const std::lock_guard lock(mutex);
  publish();
}

void Machine::Impl::open(Mail& letter) {
  letter.call ? letter.call(*scheduler) : scheduler->take_in(std::move(letter.arrives));
}

/// Updates the admissions after a turn of the engine's loop. Needs the lock.
void Machine::Impl::publish() {
  scheduler->take_ended(ended);
  for (const Scheduler::Ended& one : ended) {
    const auto admission = admissions.find(one.model);
    if (admission == admissions.end()) continue;
    --admission->second->unfinished;
    auto& of_client = admission->second->of_client;
    const auto count = of_client.find(one.client);
    if (count != of_client.end() && --count->second == 0) of_client.erase(count);
  }
  if (!ended.empty()) request_ended.notify_all();
  for (const Mail& letter : mail) {  // the scheduler has received these requests
    if (letter.model && admissions.contains(letter.model)) {
      --admissions[letter.model]->arriving;
    }
  }
  mail.clear();
  for (const auto& [model, admission] : admissions) {
    admission->load = scheduler->load(*model);
    for (size_t n = 0; n < model->nodes.size(); ++n)
      admission->costs[n] = model->nodes[n].cost.cost();
  }
  const size_t gone = std::erase_if(admissions, [&](const auto& entry) {
    return entry.first->leaving && !scheduler->has(*entry.first);
  });
  if (gone > 0) model_left.notify_all();
}

/// Waits while nothing is due. Returns false when the machine must stop and nothing is in flight.
bool Machine::Impl::take_what_came(bool idle) {
  done.clear(), jobs.clear();
  std::unique_lock lock(mutex);
  publish();
  const auto something = [&] {
    return !mailbox.empty() || !returned.empty() || !prepared.empty() ||
           (stopping && scheduler->in_flight() == 0);
  };
  if (idle) {
    const double wait_s = scheduler->look_again_s();
    if (std::isfinite(wait_s)) {
      something_came.wait_for(lock, std::chrono::duration<double>(wait_s), something);
    } else {
      something_came.wait(lock, something);
    }
  }
  done.swap(returned);
  jobs.swap(prepared);
  mail.swap(mailbox);
  return !stopping || scheduler->in_flight() > 0 || !done.empty() || !jobs.empty() || !mail.empty();
}

// ---------------------------------------------------------------------------- front

Machine::Machine(EngineOptions options) {
  check(options);
  impl_ = std::make_unique<Impl>(options);
}

Machine::~Machine() = default;

const EngineOptions& Machine::options() const { return impl_->options; }

void Machine::add(ResidentModel& model, ModelAdmission& admission) {
  admission.load.seats = model.options.max_requests;
  admission.costs.resize(model.nodes.size());
  impl_->post([&] {
    impl_->admissions[&model] = &admission;
    impl_->mailbox.push_back({.call = [&](Scheduler& s) { s.add(model); }});
  });
}

void Machine::remove(ResidentModel& model) {
  post([&](Scheduler& s) { s.remove(model); });
  std::unique_lock lock(impl_->mutex);
  impl_->model_left.wait(lock, [&] { return !impl_->admissions.contains(&model); });
}

void Machine::locked(FunctionRef<void()> f) const {
  const std::lock_guard lock(impl_->mutex);
  f();
}

RequestId Machine::take_in(std::unique_ptr<Active> request) {
  RequestId id = 0;
  impl_->post([&] {
    id = request->id = impl_->next_id++;
    ResidentModel* model = request->model;
    std::list<std::unique_ptr<Active>> one;
    one.push_back(std::move(request));
    impl_->mailbox.push_back({.arrives = std::move(one), .model = model});
  });
  return id;
}

void Machine::post(std::function<void(Scheduler&)> letter) {
  impl_->post([&] { impl_->mailbox.push_back({.call = std::move(letter)}); });
}

bool Machine::wait_for_end(const ModelAdmission& admission, double timeout_s) {
  std::unique_lock lock(impl_->mutex);
  return impl_->request_ended.wait_for(lock, std::chrono::duration<double>(timeout_s),
                                       [&] { return admission.unfinished == 0; });
}

void Machine::notify_end() { impl_->request_ended.notify_all(); }

}  // namespace syrinx
