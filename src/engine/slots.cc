#include "engine/slots.h"

#include <algorithm>

namespace syrinx {

ExecutorSlots::ExecutorSlots(const SlotsSpec& spec) : spec_(spec) {
  for (const SlotSpec& wanted : spec_.slots) {
    ExecutorSlot& slot = slots_.emplace_back(ExecutorSlot{wanted});
    slot.index = static_cast<int>(slots_.size()) - 1;
    for (int i = 0; i < (is_inline(slot) ? 1 : 2); ++i) {
      slot.batches.emplace_back().executor = slot.index;
      slot.free.push_back(&slot.batches.back());
    }
  }
}

void ExecutorSlots::add(ResidentModel& model) {
  models_.push_back(&model);
  number_nodes();
}

bool ExecutorSlots::has(const ResidentModel& model) const {
  return std::find(models_.begin(), models_.end(), &model) != models_.end();
}

void ExecutorSlots::forget_left() {
  const auto gone = std::remove_if(models_.begin(), models_.end(), [](const ResidentModel* model) {
    return model->leaving && model->requests == 0;
  });
  if (gone == models_.end()) return;
  models_.erase(gone, models_.end());
  number_nodes();
}

/// With split executors, assigns the AR nodes to the slots in turn, so that the long steps of one
/// node do not delay those of another. Remote AR nodes are always assigned to remote slots in turn.
void ExecutorSlots::number_nodes() {
  nodes_.clear();
  int homes = 0, remote_homes = 0;
  const int here = spec_.here(), remote = static_cast<int>(slots_.size()) - here;
  for (size_t m = 0; m < models_.size(); ++m) {
    ResidentModel& model = *models_[m];
    model.number = static_cast<int>(m);
    model.first_node = static_cast<int>(nodes_.size());
    for (size_t n = 0; n < model.nodes.size(); ++n) {
      nodes_.push_back({&model, static_cast<int>(n)});
      ResidentNode& node = model.nodes[n];
      if (!node.ar) continue;
      node.slot = node.remote ? here + remote_homes++ % std::max(1, remote)
                              : (2 * here - 1 - homes++ % here) % here;
    }
  }
}

bool ExecutorSlots::runs(const ExecutorSlot& slot, const ResidentNode& node) const {
  if (node.remote != slot.remote) return false;
  if (!node.ar) return true;
  return spec_.split || node.remote ? node.slot == slot.index : slot.steps;
}

void ExecutorSlots::take(ExecutorSlot& slot, const ResidentModel& model) {
  slot.free.pop_back();
  slot.running = &model;
}

void ExecutorSlots::give_back(Batch& batch) { slots_[batch.executor].free.push_back(&batch); }

int ExecutorSlots::in_flight() const {
  size_t count = 0;
  for (const ExecutorSlot& slot : slots_) count += slot.batches.size() - slot.free.size();
  return static_cast<int>(count);
}

}  // namespace syrinx
