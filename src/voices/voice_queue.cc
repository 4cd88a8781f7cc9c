#include "voices/voice_queue.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/fault.h"

namespace syrinx {
namespace {

/// The amount that is added to the thread's nice value.
constexpr int kNice = 10;
/// Weight of the newest recording in the learned cost.
constexpr double kLearn = 0.3;

}  // namespace

VoiceQueue::VoiceQueue(const VoiceEncoder& encoder, VoiceQueueLimits limits)
    : encoder_(encoder), limits_(limits) {
  thread_ = std::thread([this] { loop(); });
}

VoiceQueue::~VoiceQueue() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

Result<uint64_t> VoiceQueue::encode(Recording recording, uint64_t client, VoiceDone done) {
  auto mode = check_recording(encoder_.info(), recording);
  if (!mode.ok()) return mode.error();
  recording.mode = mode.take();
  std::lock_guard lock(mutex_);
  double ahead_s = 0;
  int mine = 0;
  for (const Job& job : jobs_) {
    ahead_s += std::max(0.0, job.seconds * cost_ - job.cost_s);
    mine += job.client == client;
  }
  const auto refuse = [&](std::string why) {
    metrics_.rejected.add();
    return Error{ErrorCode::kOverloaded, std::move(why), {}, std::max(ahead_s, 0.1)};
  };
  if (static_cast<int>(jobs_.size()) >= limits_.max_jobs) {
    return refuse(concat(jobs_.size(), " recordings wait to be encoded, which is the limit"));
  }
  if (limits_.max_per_client > 0 && mine >= limits_.max_per_client) {
    return refuse(concat("this client has ", mine, " recordings waiting, the limit is ",
                         limits_.max_per_client));
  }
  if (ahead_s > limits_.max_wait_s) {
    return refuse(concat("the wait for encoding the recording would be ", std::round(ahead_s),
                         " s, the limit is ", limits_.max_wait_s, " s"));
  }
  const uint64_t id = next_id_++;
  const double seconds = recording.seconds();
  jobs_.push_back({.id = id,
                   .client = client,
                   .recording = std::move(recording),
                   .done = std::move(done),
                   .seconds = seconds});
  metrics_.waiting.set(static_cast<double>(jobs_.size()));
  changed_.notify_all();
  return id;
}

void VoiceQueue::cancel(uint64_t id) {
  std::lock_guard lock(mutex_);
  for (Job& job : jobs_) {
    if (job.id == id) job.cancelled = true;
  }
  changed_.notify_all();
}

/// Fills `turn_`: keeps the recordings that have begun. Gives each free place to the client with
/// the fewest places, then in order of arrival. Needs the lock.
void VoiceQueue::choose_turn() {
  turn_.clear();
  for (Job& job : jobs_) {
    if (job.encoding) turn_.push_back(&job);
  }
  while (static_cast<int>(turn_.size()) < limits_.batch) {
    Job* best = nullptr;
    int64_t fewest = 0;
    for (Job& job : jobs_) {
      if (std::find(turn_.begin(), turn_.end(), &job) != turn_.end()) continue;
      const int64_t has = std::count_if(turn_.begin(), turn_.end(),
                                        [&](const Job* j) { return j->client == job.client; });
      if (!best || has < fewest) best = &job, fewest = has;
    }
    if (!best) return;
    turn_.push_back(best);
  }
}

/// Encodes one piece of each recording in `turn_`; sets the result of each that ends.
void VoiceQueue::run_turn(StepContext& ctx) {
  const double begin_s = now_s();
  std::vector<VoiceEncoding*> batch;
  for (Job* job : turn_) {
    const auto fault = fault_of([&] {
      if (!job->encoding) {
        job->encoding = encoder_.open(job->recording);
        job->recording.samples = {};  // the encoding does not need them again
      }
      batch.push_back(job->encoding.get());
    });
    if (fault) job->result = Error{ErrorCode::kInternal, *fault};
  }
  const auto fault = fault_of([&] {
    if (!batch.empty()) encoder_.run(ctx, batch);
    for (Job* job : turn_) {
      if (!job->result && job->encoding->done()) job->result = job->encoding->take();
    }
  });
  for (Job* job : turn_) {
    if (fault && !job->result) job->result = Error{ErrorCode::kInternal, *fault};
  }
  ctx.arena.reset();
  const double spent_s = now_s() - begin_s;
  metrics_.encode_s.add(spent_s);
  for (Job* job : turn_) job->cost_s += spent_s / static_cast<double>(turn_.size());
}

/// Moves ended jobs out of the queue and learns the cost from them. Needs the lock.
void VoiceQueue::take_ended(Jobs& ended) {
  for (auto it = jobs_.begin(); it != jobs_.end();) {
    const auto job = it++;
    if (!job->cancelled && !job->result) continue;
    if (job->cancelled) {
      job->result = Error{ErrorCode::kCancelled, "the encoding was cancelled"};
    } else if (job->result->ok()) {
      const double cost = job->cost_s / job->seconds;
      cost_ = cost_ == 0 ? cost : cost_ + kLearn * (cost - cost_);
      metrics_.encoded.add();
    } else {
      metrics_.failed.add();
    }
    ended.splice(ended.end(), jobs_, job);
  }
  metrics_.waiting.set(static_cast<double>(jobs_.size()));
}

void VoiceQueue::loop() {
  (void)!nice(kNice);  // on Linux, nice() changes only this thread
  Arena arena;
  StepContext ctx{pool_, arena};
  Jobs ended;
  for (bool over = false; !over;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopping_ || !jobs_.empty(); });
      for (Job& job : jobs_) job.cancelled = job.cancelled || (stopping_ && !job.result);
      take_ended(ended);
      choose_turn();
      over = stopping_;
    }
    for (Job& job : ended) job.done(std::move(*job.result));
    ended.clear();
    if (!turn_.empty()) run_turn(ctx);
  }
}

}  // namespace syrinx
