#include "engine/load.h"

#include <algorithm>
#include <cmath>

#include "engine/resident.h"

namespace syrinx {
namespace {

constexpr double kLeastSeats = 8;
constexpr double kHeadroom = 0.95;   // share of the learned capacity that requests may use
constexpr double kLeastMade_s = 20;  // seconds of output after which the capacity counts as learned
constexpr double kLearnEvery_s = 0.1;  // time between two computations of the capacity
constexpr double kNewMean = 0.02;      // weight of the newest request in the mean length
constexpr double kLateMemory_s = 1;    // time in which a chunk's weight in the late share fades

}  // namespace

void ModelLoad::chunk(bool late, double now) {
  const double kept = std::exp(-(now - chunk_s_) / kLateMemory_s);
  chunks_ = kept * chunks_ + 1;
  late_ = kept * late_ + (late ? 1 : 0);
  chunk_s_ = now;
  limit_.chunk(late);
}

void ModelLoad::ended(double made_s) {
  if (made_s <= 0) return;
  const double weight = mean_made_s_ > 0 ? kNewMean : 1;
  mean_made_s_ += weight * (made_s - mean_made_s_);
}

double ModelLoad::finish_rate() const {
  const double rate = std::min(capacity_, limit_.seats());
  return mean_made_s_ > 0 ? rate / mean_made_s_ : 0;
}

void ModelLoad::learn(std::span<const NodeWork> work, int max_batch, Sharing sharing) {
  if (made_s_ <= 0) return;
  const double capacity = stream_capacity(work, max_batch, sharing);
  capacity_ = std::isfinite(capacity) ? capacity : 0;
}

// ---------------------------------------------------------------------------- machine

MachineLoad::MachineLoad(const EngineOptions& options, const SlotsSpec& spec)
    : max_batch_(options.max_batch),
      executors_(spec.here()),
      sharing_{spec.split || spec.inline_run ? 1 : spec.here(), spec.split},
      realtime_(options.policy == "streaming"),
      background_time_(options.background_share, spec.here()) {}

void MachineLoad::ran(const Batch& batch, ResidentNode& node) {
  const double took_s = batch.ended_s - batch.began_s;
  StageMetrics& stage = *node.metrics;
  stage.batch.observe(static_cast<double>(batch.owners.size()));
  stage.step_seconds.observe(took_s);
  if (batch.replayed) stage.replayed.add();
  if (batch.recalled) stage.recalled.add();
  stage.units.add(batch.units());
  if (!node.remote) {
    EngineMetrics& metrics = batch.model->metrics;
    metrics.busy_s.add(took_s);
    busy_s_ += took_s;
    if (batch.background) {
      metrics.background_s.add(took_s);
      background_time_.took(took_s);
    }
  }
  node.cost.sample(batch.units(), took_s);
  node.units += batch.units();
}

double MachineLoad::seats(const ResidentModel& model,
                          std::span<ResidentModel* const> models) const {
  const ModelLoad& load = model.load;
  if (!realtime_ || load.capacity() <= 0 || load.made_s() < kLeastMade_s) {
    return model.options.max_requests;
  }
  double left = kHeadroom;
  for (const ResidentModel* other : models) {
    const double capacity = other->load.capacity();
    if (other != &model && capacity > 0) left -= other->holding / capacity;
  }
  return std::max(kLeastSeats, std::min(left * load.capacity(), load.limit().seats()));
}

bool MachineLoad::observe(std::span<ResidentModel* const> models, double now) {
  const double busy_s = busy_s_ / executors_;
  for (ResidentModel* model : models) {
    SeatLimit& limit = model->load.limit();
    limit.observe(busy_s, model->holding, now);
    model->metrics.seats_limit.set(limit.limited() ? limit.seats() : 0);
  }
  if (now - learned_s_ < kLearnEvery_s) return false;
  learned_s_ = now;
  return true;
}

void MachineLoad::learn(ResidentModel& model, SlowRequests slow, double now) {
  const double made_s = model.load.made_s();
  work_.clear();
  for (const ResidentNode& node : model.nodes) {
    if (made_s <= 0) break;
    work_.push_back({node.cost.cost(), node.ar != nullptr, node.units / made_s,
                     std::max(1, node.policy.steady), node.remote});
  }
  model.load.learn(work_, max_batch_, sharing_);
  if (made_s > 0) model.metrics.streams_capacity.set(model.load.capacity());
  model.metrics.slowdown.set(model.load.slowdown().value(slow.waited_s, slow.count, now));
  model.metrics.slowdown_at_s.set(now);
}

}  // namespace syrinx
