#include "engine/scheduler.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/fault.h"

namespace syrinx {
namespace {

/// The time between two checks of a request that is paused by its reader.
constexpr double kPausedPoll_s = 0.01;

/// Opens the trace file that the options name. Null if they name no file.
std::unique_ptr<TraceLog> open_trace(const EngineOptions& options, const SlotsSpec& spec,
                                     double now) {
  if (options.trace_file.empty()) return nullptr;
  auto trace = std::make_unique<TraceLog>(options.trace_file, now);
  for (size_t i = 0; i < spec.slots.size(); ++i) {
    trace->name_row(static_cast<int>(i) + 1, spec.slots[i].remote ? "elsewhere"
                                             : spec.inline_run    ? "executor (shared)"
                                                                  : "executor");
  }
  return trace;
}

}  // namespace

Scheduler::Scheduler(const EngineOptions& options, const SlotsSpec& spec, Platform& platform)
    : platform_(platform),
      trace_(open_trace(options, spec, platform.now())),
      load_(options, spec),
      slots_(spec),
      roster_(platform, load_, trace_.get()),
      edges_(platform, roster_),
      committer_(platform, roster_, edges_),
      planner_(options, slots_, roster_, load_),
      builder_(options.max_batch, slots_, roster_) {}

Scheduler::~Scheduler() = default;

// ---------------------------------------------------------------------------- mail

void Scheduler::add(ResidentModel& model) {
  slots_.add(model);
  planner_.reserve();  // reserved here, so that steady steps allocate nothing
  load_.reserve(model.nodes.size());
}

void Scheduler::remove(ResidentModel& model) {
  model.leaving = true;
  roster_.cancel_all(&model);
}

void Scheduler::take_in(std::unique_ptr<Active> request) {
  Active* taken = roster_.take_in(std::move(request));
  if (!taken || !taken->unopened || !taken->live()) return;
  roster_.guarded(*taken, [&] { edges_.open(*taken, std::move(taken->unopened)); });
}

void Scheduler::cancel(RequestId id) {
  if (Active* request = roster_.find(id)) roster_.finish(*request, FinishReason::kCancelled);
}

void Scheduler::raise_priority(RequestId id) {
  if (Active* request = roster_.find(id)) request->output.raise_priority(now());
}

void Scheduler::append_text(RequestId id, std::string text, bool last) {
  if (Active* request = roster_.find(id))
    edges_.append(*request, {.text = std::move(text), .last = last});
}

void Scheduler::append_samples(RequestId id, std::vector<float> samples, bool last) {
  Active* request = roster_.find(id);
  if (!request) return;
  edges_.append(*request, {.type = {Flow::kSamples}, .floats = std::move(samples), .last = last});
}

// ---------------------------------------------------------------------------- turn

void Scheduler::commit(Batch* batch) {
  const double began_s = now();
  ResidentModel& model = *batch->model;
  ResidentNode& node = model.nodes[batch->node];
  load_.ran(*batch, node);
  if (trace_) {
    trace_->work(batch->executor + 1, node.metrics->stage.c_str(), model.label.c_str(),
                 batch->began_s, batch->ended_s, static_cast<int>(batch->owners.size()),
                 batch->units());
  }
  committer_.commit(*batch);
  slots_.give_back(*batch);
  model.metrics.overhead_s.add(now() - began_s);
}

/// Updates the learned load of every model from time to time.
void Scheduler::learn() {
  const double at = now();
  if (!load_.observe(models(), at)) return;
  for (ResidentModel* model : models()) load_.learn(*model, roster_.slow(*model), at);
}

bool Scheduler::dispatch() {
  roster_.sweep();
  learn();
  roster_.promote(models());
  for (auto& request : roster_.requests()) {
    if (!request->between || !request->promoted || !request->live()) continue;
    roster_.guarded(*request, [&] { edges_.next_part(*request); });
  }
  slots_.forget_left();
  bool any = false;
  for (const bool remote : {true, false}) {  // remote work first: it takes no executor's time here
    for (ExecutorSlot& slot : slots_.slots()) {
      if (slot.remote != remote) continue;
      while (!slot.free.empty() && fill(slot)) {
        any = true;
        if (slots_.is_inline(slot))
          return true;  // the batch has run inline; handle messages before the next batch
      }
      if (slot.idle() && planner_.make_room(slot)) return true;  // plan again
    }
  }
  roster_.publish_counts(models());
  return any || roster_.has_ended();  // a request that has failed needs sweep()
}

/// Plans for one executor slot, builds the batch and starts it. Returns false if no batch started.
bool Scheduler::fill(ExecutorSlot& slot) {
  const double began_s = now();
  if (!planner_.plan(slot, began_s)) {
    if (!models().empty()) models().front()->metrics.overhead_s.add(now() - began_s);
    return false;
  }
  Batch& batch = *slot.free.back();
  bool has_run = false;
  const std::optional<std::string> fault = fault_of([&] {
    builder_.build(planner_.plan(), batch, began_s);
    const double takes_s = batch.model->nodes[batch.node].cost.cost().of(batch.units());
    slot.until_s = std::max(slot.until_s, began_s) + takes_s;
    batch.model->metrics.overhead_s.add(now() - began_s);
    has_run = platform_.run(slot.index, batch);
  });
  if (fault) {
    builder_.give_up(planner_.plan(), batch, *fault);
    return true;
  }
  builder_.started();
  slots_.take(slot, *batch.model);
  if (has_run) commit(&batch);
  return true;
}

double Scheduler::look_again_s() const {
  if (planner_.left_out()) return kPausedPoll_s;
  for (const ResidentModel* model : models()) {
    if (model->load.limit().limited()) return SeatLimit::kLook_s;
  }
  return roster_.waits() ? SeatLimit::kLook_s : std::numeric_limits<double>::infinity();
}

void Scheduler::end_all() {
  roster_.cancel_all();
  roster_.sweep();
  slots_.forget_left();
}

}  // namespace syrinx
