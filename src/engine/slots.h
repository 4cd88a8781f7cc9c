// The executor slots and the nodes of all models: which slot runs which node. Engine thread only.
//
// Invariants:
// - models, and the nodes of all models, are numbered from 0 on, without gaps, in order of arrival;
// - with split executors, and wherever it is remote, an AR node is stepped in one slot only, so
//   that its steps run in the order in which they were built;
// - a batch is free in its slot or in flight, never both.
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "engine/batch.h"
#include "engine/platform.h"
#include "engine/resident.h"

namespace syrinx {

/// An executor, and the two batches that it may have: one running, one built.
struct ExecutorSlot {
  int index = 0;
  bool steps = true;
  bool remote = false;
  std::deque<Batch> batches;
  std::vector<Batch*> free;
  const ResidentModel* running = nullptr;  ///< whose batch it was given last
  double until_s = 0;                      ///< when that is probably over

  bool idle() const { return free.size() == batches.size(); }
};

/// A node of one of the models.
struct NodeRef {
  ResidentModel* model = nullptr;
  int node = 0;

  ResidentNode& get() const { return model->nodes[node]; }
};

/// The table of slots, models and nodes; knows no requests.
class ExecutorSlots {
 public:
  explicit ExecutorSlots(const SlotsSpec& spec);

  std::span<ResidentModel* const> models() const { return models_; }
  /// Nodes of all models, as Snapshot::nodes.
  std::span<const NodeRef> nodes() const { return nodes_; }
  std::deque<ExecutorSlot>& slots() { return slots_; }

  void add(ResidentModel& model);
  bool has(const ResidentModel& model) const;
  /// Forgets models that leave and whose requests have all ended.
  void forget_left();

  /// Whether batches of the slot run on the scheduler's own thread.
  bool is_inline(const ExecutorSlot& slot) const { return spec_.inline_run && !slot.remote; }
  bool runs(const ExecutorSlot& slot, const ResidentNode& node) const;
  /// Makes room in a batch for all nodes, once for each set of models.
  void warm(Batch& batch, int max_batch) const;

  /// The next free batch of a slot, of this model, was given to its executor.
  void take(ExecutorSlot& slot, const ResidentModel& model);
  void give_back(Batch& batch);
  int in_flight() const { return in_flight_; }

 private:
  void number_nodes();

  const SlotsSpec spec_;
  std::deque<ExecutorSlot> slots_;
  std::vector<ResidentModel*> models_;
  std::vector<NodeRef> nodes_;
  int generation_ = 0;  ///< of models_
  int in_flight_ = 0;   ///< batches
};

}  // namespace syrinx
