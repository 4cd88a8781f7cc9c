// The front door of the library: loads a model by name or directory and gives its engine.
// The only room that joins families, engine and device. Thread-safe after load.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "link/remote_stage.h"

namespace syrinx {

/// How far the loading of a model is.
struct ModelProgress {
  std::string model;        ///< model_name()
  int64_t done_bytes = 0;   ///< of tensors that were taken from the checkpoint
  int64_t total_bytes = 0;  ///< of the checkpoint's files, which may hold more than is taken
  double began_s = 0;       ///< now_s() at its beginning
  bool ended = false;       ///< loaded or failed: the last call
};

struct LoadOptions {
  /// "finch" or "wren" (the built-in voice and text model), a checkpoint directory, or
  /// Org/Name[@revision] as found in the hub's local cache.
  std::string model = "finch";
  std::string weights = "auto";  ///< auto, or the name of a WeightType: how weights are kept
  /// Where packed weights are kept for the next start: a directory; auto, default_weights_cache()
  /// for checkpoints of kCachedFrom bytes; or off.
  std::string weights_cache = "auto";
  /// The node of cores that the caller stays on (base/cores.h): weights are copied into its memory.
  int node = -1;
  std::string device = "auto";  ///< cpu, cuda, or auto: cuda where this build and machine have it
  bool dummy = false;           ///< random weights for the config, for measuring
  std::string voices_dir;       ///< where built-in voices lie; empty: found beside the program
  /// Chunk nodes whose stages run in other processes (StageServer), which this one looks for.
  std::vector<Placement> placements;
  /// Where `placements` are those of a file: a model of which it misses a node is not loaded.
  std::optional<PlacementFile> placement_file;
  StageKeys stage_keys;  ///< of links to other hosts
  /// Only these nodes are to run here, for others (StageServer); empty: all. On a CPU, weights of
  /// networks that run elsewhere take no memory here.
  std::vector<std::string> held_nodes;
  std::string lexicon;  ///< a file of pronunciations (text/lexicon.h); empty: none
  /// Takes lines about links that come and go and about packed weights; any thread. Empty: lines
  /// about weights go to the standard error.
  std::function<void(const std::string&)> log;
  /// Called for each tensor, and at the end, by the thread that loads. Not called for random
  /// weights.
  std::function<void(const ModelProgress&)> progress;
  EngineOptions engine;
};

/// Packing smaller checkpoints takes no time to speak of.
constexpr int64_t kCachedFrom = int64_t{64} << 20;

/// What clients call a model that is loaded as `model`: the last part of it, without a revision.
std::string model_name(std::string model);

/// Throws LoadError where load_pipeline() would not find a model, or none of a known family.
void find_checkpoint(const LoadOptions& options);

/// What is known of a model before it is loaded, of families that know it from small files (Piper);
/// null: nothing, or the files cannot be read.
std::shared_ptr<const PipelineInfo> facts_of(const LoadOptions& options);

/// Names the family that a directory's config.json belongs to and loads it. Throws LoadError.
std::shared_ptr<const Pipeline> load_pipeline(const LoadOptions& options);

/// How this process would introduce itself over a link (Introduction, without nodes): the program's
/// version, the instruction set of its kernels, and the model's family, weights and their hash.
/// Reads parts of the model's files. Throws LoadError.
Introduction introduce(const LoadOptions& options);

/// Where batches run of a model on a CPU that has `threads` threads to itself. With a few threads,
/// all of them on one batch where the weights are more than a cache holds: a step then waits for
/// memory, which one core cannot exhaust, and half the threads would wait for the other half. The
/// same for a recogniser: its encoder's batches are large, and a speaker waits for them.
Executors executors_alone(const PipelineInfo& info, int threads);

/// The same with an engine around it, on a machine of its own, by executors_alone() if the options
/// name no executors, or on `machine`. Throws LoadError.
std::unique_ptr<Engine> load_engine(const LoadOptions& options,
                                    std::shared_ptr<Machine> machine = nullptr);

/// Speaks into nothing, so that the first listener finds pages mapped and threads awake; on a GPU
/// also in crowds of 2, 4, ... `max_batch`, so that what a step launches is recorded
/// (Stream::repeat). After `most_s` seconds no crowd begins.
void warm_up(Engine& engine, int max_batch, double most_s = 3);

}  // namespace syrinx
