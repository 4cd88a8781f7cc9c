// A model that lives on the machine: for each node of its graph what the engine keeps (cache, cost,
// counters), and what was learned of its requests. Engine thread only once it has been added, but
// for the constants.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/admission.h"
#include "engine/cost.h"
#include "engine/engine.h"
#include "engine/first_chunk.h"
#include "engine/kv_cache.h"
#include "engine/metrics.h"
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
  bool away = false;  ///< its stage is in another process

  std::unique_ptr<KvCache> cache;  ///< of an AR node
  std::vector<KvPool> kv;          ///< its memory, one per ArTraits::kv; none where it is away
  std::vector<PageCopy> copies;    ///< where it is away: to go along with its next batch
  FirstChunk first_chunk{1, 1};    ///< of the first chunk node after an AR node
  CostLearner cost;
  double units = 0;           ///< rows or frames since the start
  double units_a_second = 0;  ///< of audio
  int steps_in_flight = 0;    ///< sequences in AR batches
  int place = 0;              ///< of the executor that steps an AR node, where not any may

  Device device() const { return ar ? ar->device() : chunk->device(); }
};

/// A loaded model: its nodes, its caches and who has a place in it.
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
  int requests = 0;    ///< that have a record, of any state
  bool leaving = false;

  int first_link = -1;  ///< the first chunk node that an AR node feeds

  PlaceLimit limit;
  Slowdown slowdown;
  Rate chunk_rate{1.0}, late_rate{1.0};
  double late_share = 0;   ///< of the chunks of the last second
  double capacity = 0;     ///< real-time streams alone on the machine, as learned; 0: not known
  double made_s = 0;       ///< output since the start: audio, or reading time of text
  double mean_made_s = 0;  ///< of the requests that ended lately
  int holding = 0;         ///< requests with a place that do not wait for their reader

  const Graph& graph() const { return pipeline->graph(); }
  int ar_nodes() const;
};

/// Pages that the options buy for an AR stage.
int pages_for(const ArStage& ar, const EngineOptions& options);

}  // namespace syrinx
