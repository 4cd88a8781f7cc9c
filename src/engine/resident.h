// A model on the machine: the engine's data for each node of its graph (pages, cost, counters), and
// the learned load of its requests. After Machine::add(), engine thread only, except the constants.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/cost.h"
#include "engine/engine.h"
#include "engine/first_chunk.h"
#include "engine/load.h"
#include "engine/metrics.h"
#include "engine/pages.h"
#include "model/pipeline.h"

namespace syrinx {

/// A node of a loaded model: its constants and its learned costs.
struct ResidentNode {
  // Constants of the node.
  const ArStage* ar = nullptr;  ///< null for a chunk node
  const ChunkStage* chunk = nullptr;
  ChunkPolicy policy;            ///< chunk policy of the edge that feeds a chunk node
  double samples_per_frame = 0;  ///< audio samples at the client for each input frame
  StageMetrics* metrics = nullptr;
  bool remote = false;  ///< its stage is in another process

  std::unique_ptr<Pages> pages;  ///< pages of an AR node; null for a chunk node
  FirstChunk first_chunk{1, 1};  ///< used only for the first chunk node after an AR node
  CostLearner cost;
  double units = 0;         ///< rows or frames since the start
  int steps_in_flight = 0;  ///< sequences in AR batches that run now
  /// The request for which pages were taken from others, and its ArRun::ran() at that moment. Until
  /// it has run more, others get no new pages of the node. 0: no pages were taken.
  uint64_t kept_for = 0;
  int64_t kept_at = 0;
  int slot = 0;  ///< the only slot for the steps of an AR node (split or remote)
};

/// Counts and load of a model for submit().
struct ModelAdmission {
  int unfinished = 0;                 ///< requests between admission and the end of their Active
  std::map<uint64_t, int> of_client;  ///< number of unfinished requests of each client
  Load load;
};

/// A loaded model: its nodes with their pages, and its load.
struct ResidentModel {
  /// Allocates the memory of the caches. Throws LoadError if that fails.
  ResidentModel(std::shared_ptr<const Pipeline> pipeline, const EngineOptions& options);
  /// Drops the kept streams. A conversation keeps no memory of a model that is unloaded.
  ~ResidentModel();

  // Constants of the model.
  const std::shared_ptr<const Pipeline> pipeline;
  const EngineOptions options;
  EngineMetrics metrics;
  ModelAdmission admission;         ///< under the lock of the Machine
  std::vector<ResidentNode> nodes;  ///< in the order of the graph's nodes
  std::string label;                ///< the model's name, in characters that a trace may contain

  int number = 0;      ///< number of the model in the machine
  int first_node = 0;  ///< number of nodes[0] among all nodes of the machine
  int requests = 0;    ///< requests in the Roster, in any state
  bool leaving = false;

  int first_link = -1;  ///< the first chunk node that an AR node feeds

  ModelLoad load;
  int holding = 0;                             ///< requests that have a seat (Roster)
  std::deque<std::weak_ptr<KeptStream>> kept;  ///< those that hold a stream, oldest first

  const Graph& graph() const { return pipeline->graph(); }
  int ar_nodes() const;
  /// Keeps an ended stream for the next turn. Drops the oldest of more than max_batch streams.
  void keep(ChunkRun& run);
};

/// Returns the number of pages that fit into EngineOptions::kv_bytes for an AR stage.
int pages_for(const ArStage& ar, const EngineOptions& options);
/// Returns how many prompt rows a step of an AR stage on `device` may add.
int prefill_rows_for(Device device, const EngineOptions& options);

}  // namespace syrinx
