#include "engine/virtual_platform.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"
#include "engine/scheduler.h"

namespace syrinx {

VirtualPlatform::VirtualPlatform(const SlotsSpec& slots, VirtualWork work)
    : work_(std::move(work)), slots_(slots.slots.size()) {}

bool VirtualPlatform::run(int slot, Batch& batch) {
  Slot& on = slots_[slot];
  const double ready_s = now_s_ + (work_.lay_out_s ? work_.lay_out_s(batch) : 0);
  batch.began_s = std::max(ready_s, on.free_s);
  on.free_s = batch.began_s + (work_.batch_s ? work_.batch_s(batch) : 0);
  batch.ended_s = on.free_s + (work_.link_s ? work_.link_s(batch) : 0);
  on.queue.push_back(&batch);
  return false;
}

void VirtualPlatform::prepare(std::unique_ptr<HostJob> job) {
  const double takes_s = work_.job_s ? work_.job_s(*job) : 0;
  jobs_.push_back({now_s_ + takes_s, std::move(job)});
}

double VirtualPlatform::next_s() const {
  double next_s = std::numeric_limits<double>::infinity();
  for (const Slot& slot : slots_) {
    if (!slot.queue.empty()) next_s = std::min(next_s, slot.queue.front()->ended_s);
  }
  for (const Job& job : jobs_) next_s = std::min(next_s, job.ends_s);
  return next_s;
}

void VirtualPlatform::set(double at_s) {
  SYRINX_CHECK(at_s >= now_s_, "the virtual clock cannot be set back");
  now_s_ = at_s;
}

void VirtualPlatform::hand_back(Scheduler& scheduler) {
  while (true) {
    Slot* first = nullptr;
    for (Slot& slot : slots_) {
      if (slot.queue.empty() || slot.queue.front()->ended_s > now_s_) continue;
      if (!first || slot.queue.front()->ended_s < first->queue.front()->ended_s) first = &slot;
    }
    if (!first) break;
    Batch* batch = first->queue.front();
    first->queue.pop_front();
    const double began_s = batch->began_s, ended_s = batch->ended_s;
    if (work_.run) work_.run(*batch);
    batch->began_s = began_s, batch->ended_s = ended_s;
    scheduler.commit(batch);
  }
  // A commit may start another job, which waits for a later turn. Nothing here allocates memory.
  const auto ended = [&](const Job& job) { return job.ends_s <= now_s_; };
  for (auto count = std::count_if(jobs_.begin(), jobs_.end(), ended); count > 0; --count) {
    const auto one = std::find_if(jobs_.begin(), jobs_.end(), ended);
    std::unique_ptr<HostJob> job = std::move(one->job);
    jobs_.erase(one);
    job->work();
    scheduler.commit(std::move(job));
  }
}

}  // namespace syrinx
