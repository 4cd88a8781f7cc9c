#include "bench/virtual_pair.h"

#include <time.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "engine/active.h"

namespace syrinx {

/// The service of one of the two models. Calls take effect when the clock next advances.
class VirtualPair::Party : public Service {
 public:
  Party(VirtualPair& pair, ResidentModel& model) : pair_(pair), model_(model) {}
  const PipelineInfo& info() const override { return model_.pipeline->info(); }
  Result<RequestId> submit(const SpeechRequest& request, std::shared_ptr<Sink> sink) override {
    auto made = make_active(model_, request, std::move(sink), pair_.now());
    if (!made.ok()) return made.error();
    std::unique_ptr<Active> active = made.take();
    const RequestId id = active->id = ++pair_.next_id_;
    letters_.push_back(std::move(active));
    pair_.post([this] { take_in(); });
    return id;
  }
  void cancel(RequestId id) override {
    pair_.post([this, id] { pair_.scheduler_.cancel(id); });
  }
  void append_text(RequestId id, std::string text, bool last) override {
    pair_.post(
        [this, id, text = std::move(text), last] { pair_.scheduler_.append_text(id, text, last); });
  }
  void raise_priority(RequestId id) override {
    pair_.post([this, id] { pair_.scheduler_.raise_priority(id); });
  }

 private:
  void take_in() {
    pair_.scheduler_.take_in(std::move(letters_.front()));
    letters_.pop_front();
  }
  VirtualPair& pair_;
  ResidentModel& model_;
  std::deque<std::unique_ptr<Active>> letters_;
};

VirtualPair::VirtualPair(std::shared_ptr<const Pipeline> writer,
                         std::shared_ptr<const Pipeline> speaker, const EngineOptions& options,
                         PairCosts costs)
    : costs_(std::move(costs)),
      options_(options),
      spec_{{{slots_for(options).slots.front().threads, true}}, true, false},
      executor_(spec_.slots.front().threads),
      platform_(spec_, {.batch_s = [this](const Batch& batch) { return cost_of(batch); },
                        .run = [this](Batch& batch) { run(batch); }}),
      scheduler_(options_, spec_, platform_) {
  const auto add = [&](std::shared_ptr<const Pipeline> pipeline, size_t costed, bool writes) {
    const size_t stages = pipeline->graph().nodes().size();
    if (costed != stages) {
      throw LoadError(concat("the profile has costs for ", costed, " stages, but '",
                             pipeline->info().model, "' has ", stages,
                             "; measure a profile with this model"));
    }
    models_.emplace_back(std::move(pipeline), options_);
    scheduler_.add(models_.back());
    parties_[writes ? 0 : 1] = std::make_shared<Party>(*this, models_.back());
  };
  add(std::move(writer), costs_.writer.size(), true);
  add(std::move(speaker), costs_.speaker.size(), false);
}

VirtualPair::~VirtualPair() {
  for (int i = 0; i < 1000 && scheduler_.in_flight() > 0; ++i) next();
  scheduler_.end_all();
}

double VirtualPair::cost_of(const Batch& batch) const {
  const bool writes = batch.model == &models_.front();
  return (writes ? costs_.writer : costs_.speaker)[batch.node].of(batch.units());
}

void VirtualPair::run(Batch& batch) {
  const double began_s = clock_s();
  executor_.run(batch);
  times_[batch.model == &models_.front() ? 0 : 1].add(batch.node, batch.units(),
                                                      clock_s() - began_s);
  if (batch.model != &models_.front() || batch.kind() != Plan::kAr) return;
  forwards_ += batch.background ? 0 : 1;
}

int VirtualPair::requests() const { return models_[0].requests + models_[1].requests; }

int VirtualPair::pages_taken() const {
  double taken = 0;
  for (const ResidentModel& each : models_)
    taken += each.metrics.pages.value() - each.metrics.pages_free.value();
  return static_cast<int>(taken);
}

int VirtualPair::preemptions() const {
  double sum = 0;
  for (const ResidentModel& each : models_) sum += each.metrics.preemptions.value();
  return static_cast<int>(sum);
}

double VirtualPair::background_s() const {
  double sum = 0;
  for (const ResidentModel& each : models_) sum += each.metrics.background_s.value();
  return sum;
}

/// Returns the clock for batches: this thread's processor time, which other programs hardly affect,
/// if it runs the batches alone; else real time.
double VirtualPair::clock_s() const {
  timespec spent = {};
  if (spec_.slots.front().threads > 1 || clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent) != 0) {
    return now_s();
  }
  return static_cast<double>(spent.tv_sec) + 1e-9 * static_cast<double>(spent.tv_nsec);
}

PairCosts VirtualPair::measured() const {
  return {times_[0].costs(costs_.writer.size()), times_[1].costs(costs_.speaker.size())};
}

void VirtualPair::turn() {
  platform_.hand_back(scheduler_);
  do {
    while (!mail_.empty()) {
      const auto letter = std::move(mail_.front());
      mail_.pop_front();
      letter();
    }
  } while (scheduler_.dispatch() || !mail_.empty());
}

bool VirtualPair::next() {
  const double at_s =
      mail_.empty() ? std::min(platform_.next_s(), now() + scheduler_.look_again_s()) : now();
  if (!std::isfinite(at_s)) return false;
  platform_.set(at_s);
  turn();
  return true;
}

void VirtualPair::run_until(double at_s) {
  turn();
  while (std::min(platform_.next_s(), now() + scheduler_.look_again_s()) <= at_s) next();
  platform_.set(at_s);
  turn();
}

}  // namespace syrinx
