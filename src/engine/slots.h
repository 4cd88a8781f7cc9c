// The executor slots and the nodes of all models, and which slot may run which node. Engine thread
// only.
//
// Invariants:
// - models, and the nodes of all models, are numbered from 0 on, without gaps, in order of arrival;
// - a remote AR node, and with split executors any AR node, has one slot for all of its steps. So
//   these run in the order in which they were built;
// - a batch is either free in its slot or in flight.
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "engine/batch.h"
#include "engine/platform.h"
#include "engine/resident.h"

namespace syrinx {

/// An executor with its two batches: one may run while the next one waits.
struct ExecutorSlot : SlotSpec {
  int index = 0;
  std::deque<Batch> batches = {};
  std::vector<Batch*> free = {};
  const ResidentModel* running = nullptr;  ///< model of the last batch that the executor got
  double until_s = 0;                      ///< expected end of that batch, on the engine's clock

  bool idle() const { return free.size() == batches.size(); }
};

/// A node of one of the models.
struct NodeRef {
  ResidentModel* model = nullptr;
  int node = 0;

  ResidentNode& get() const { return model->nodes[node]; }
};

/// The table of slots, models and nodes. The class does not depend on requests.
class ExecutorSlots {
 public:
  explicit ExecutorSlots(const SlotsSpec& spec);

  std::span<ResidentModel* const> models() const { return models_; }
  /// Returns the nodes of all models, in the order of Snapshot::nodes.
  std::span<const NodeRef> nodes() const { return nodes_; }
  std::deque<ExecutorSlot>& slots() { return slots_; }

  void add(ResidentModel& model);
  bool has(const ResidentModel& model) const;
  /// Removes models that are marked for removal and whose requests have all ended.
  void forget_left();

  /// Returns whether batches of the slot run on the scheduler's own thread.
  bool is_inline(const ExecutorSlot& slot) const { return spec_.inline_run && !slot.remote; }
  bool runs(const ExecutorSlot& slot, const ResidentNode& node) const;
  /// Records that the executor got the slot's next free batch, which has work of this model.
  void take(ExecutorSlot& slot, const ResidentModel& model);
  void give_back(Batch& batch);
  /// Returns the number of batches in flight.
  int in_flight() const;

 private:
  void number_nodes();

  const SlotsSpec spec_;
  std::deque<ExecutorSlot> slots_;
  std::vector<ResidentModel*> models_;
  std::vector<NodeRef> nodes_;
};

}  // namespace syrinx
