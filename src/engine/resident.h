// A model that lives on the machine: for each node of its graph what the engine keeps (pages, cost,
// counters), and what was learned of its requests. Engine thread only once it has been added, but
// for the constants.
#pragma once

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

/// A node of a loaded model: what it is, and what has been learned of it.
struct ResidentNode {
  // Constant
  std::string name;
  const ArStage* ar = nullptr;  ///< or
  const ChunkStage* chunk = nullptr;
  ChunkPolicy policy;            ///< of the edge that feeds a chunk node
  double samples_per_frame = 0;  ///< of audio for the client, for each frame that comes in
  StageMetrics* metrics = nullptr;
  bool remote = false;  ///< its stage is in another process

  std::unique_ptr<Pages> pages;  ///< of an AR node
  FirstChunk first_chunk{1, 1};  ///< of the first chunk node after an AR node
  CostLearner cost;
  double units = 0;           ///< rows or frames since the start
  double units_a_second = 0;  ///< of audio
  int steps_in_flight = 0;    ///< sequences in AR batches
  int slot = 0;               ///< executor slot that steps an AR node, where not every one may

  Device device() const { return ar ? ar->device() : chunk->device(); }
};

/// A loaded model: its nodes with their pages, and its load.
struct ResidentModel {
  /// Takes the memory of the caches. Throws LoadError.
  ResidentModel(std::shared_ptr<const Pipeline> pipeline, const EngineOptions& options,
                EngineMetrics& metrics);

  // Constant
  const std::shared_ptr<const Pipeline> pipeline;
  const EngineOptions options;
  EngineMetrics& metrics;
  std::vector<ResidentNode> nodes;  ///< as in the graph
  std::string label;                ///< its name, fit for a trace

  int number = 0;      ///< among the machine's models
  int first_node = 0;  ///< number of nodes[0] among the machine's nodes
  int requests = 0;    ///< that have a record, of any state (Roster)
  bool leaving = false;

  int first_link = -1;  ///< the first chunk node that an AR node feeds

  ModelLoad load;
  int holding = 0;  ///< requests that have a seat (Roster)

  const Graph& graph() const { return pipeline->graph(); }
  int ar_nodes() const;
};

/// Pages that the options buy for an AR stage.
int pages_for(const ArStage& ar, const EngineOptions& options);

}  // namespace syrinx
