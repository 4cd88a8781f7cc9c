// The entry point of the library: loads a model by name or directory, and returns its engine. The
// only folder that connects families, engine and device. Thread-safe after loading.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "link/remote_stage.h"

namespace syrinx {

/// Progress of loading a model.
struct ModelProgress {
  std::string model;        ///< name of the model for clients: model_name()
  int64_t done_bytes = 0;   ///< bytes of tensors read from the checkpoint so far
  int64_t total_bytes = 0;  ///< size of the checkpoint's files, including unused parts
  double began_s = 0;       ///< value of now_s() at the beginning
  bool ended = false;       ///< true in the last call, after success or failure
};

/// Which model to load, and how.
struct LoadOptions {
  /// The model to load: "finch" or "wren" (the built-in voice and text model), a checkpoint
  /// directory, or Org/Name[@revision] as found in the hub's local cache.
  std::string model = "finch";
  /// The storage type of weights: "auto", or the name of a WeightType.
  std::string weights = "auto";
  /// Where packed weights are stored for the next start: a directory, "off" or "auto". "auto" means
  /// default_weights_cache() for checkpoints of at least kCachedFrom bytes, otherwise "off".
  std::string weights_cache = "auto";
  /// The NUMA node on whose cores the caller runs (base/cores.h). Weights are copied to this node.
  int node = -1;
  /// cpu, cuda, cuda:N or auto: cuda if build and machine support it; also for single stages, e.g.
  /// "cuda:0,codec=cuda:1" (runtime/devices.h).
  std::string device = "auto";
  bool dummy = false;      ///< random weights of the config's sizes, for measurements
  std::string voices_dir;  ///< directory of the built-in voices; "": searched beside the program
  /// The nodes with stages in other processes (StageServer), to which this process connects.
  std::vector<Placement> placements;
  /// The file that `placements` were read from. The load fails if the model lacks a node of this
  /// file.
  std::optional<PlacementFile> placement_file;
  StageKeys stage_keys;  ///< keys for links to other hosts
  /// The nodes that this process runs for other processes (StageServer); empty means all. On a CPU,
  /// weights of networks that run elsewhere use no memory here.
  std::vector<std::string> held_nodes;
  std::string lexicon;  ///< path of a file of pronunciations (text/lexicon.h), or ""
  /// Receives log lines about links and packed weights, on any thread. If empty, lines about
  /// weights are written to the standard error.
  std::function<void(const std::string&)> log;
  /// Called by the loading thread for each tensor, and at the end. Not called for random weights.
  std::function<void(const ModelProgress&)> progress;
  EngineOptions engine;
};

/// The least size of a checkpoint for which "auto" caches packed weights, in bytes.
constexpr int64_t kCachedFrom = int64_t{64} << 20;

/// Returns the name of `model` for clients: its last part, without a revision.
std::string model_name(std::string model);

/// Throws LoadError if load_pipeline() would find no model, no model of a known family, or not the
/// devices or the nodes of `device`.
void find_checkpoint(const LoadOptions& options);

/// Returns the properties of a model without loading it, for families that read them from small
/// files (Piper). Returns null for other families, or if the files cannot be read.
std::shared_ptr<const PipelineInfo> facts_of(const LoadOptions& options);

/// Finds a model and its family, and loads the model. Throws LoadError.
std::shared_ptr<const Pipeline> load_pipeline(const LoadOptions& options);

/// Returns the Introduction of this process for a link, with an empty list of nodes. `model` has
/// the family, the type of the weights and a hash of the model's files. Reads parts of these files.
/// Throws LoadError.
Introduction introduce(const LoadOptions& options);

/// Returns the executors for a model that alone may use `threads` threads of a CPU. If the threads
/// are few and the weights exceed a cache, all threads run one batch. A step then waits for memory,
/// and one core cannot use the whole bandwidth, so with two executors half of the threads would
/// wait for the other half.
Executors executors_alone(const PipelineInfo& info, int threads);

/// Returns a machine for several models, with the executors that the options of the first model
/// name. If they name none: as executors_alone(), by the sizes of checkpoints. Ignores models that
/// cannot be found. Throws LoadError for invalid options of the machine.
std::shared_ptr<Machine> shared_machine(const std::vector<LoadOptions>& models);

/// Loads a model, and returns its engine. The engine runs on `machine` or, if null, on its own
/// machine, with executors_for() unless the options name executors. Throws LoadError.
std::unique_ptr<Engine> load_engine(const LoadOptions& options,
                                    std::shared_ptr<Machine> machine = nullptr);

/// Runs requests and drops their speech, so that the first client finds pages mapped and threads
/// running. On a GPU, also runs groups of each step_bucket() up to `max_batch`, so that the
/// launches of a step are recorded (Stream::repeat). Begins no group after `most_s` seconds.
void warm_up(Engine& engine, int max_batch, double most_s = 3);

}  // namespace syrinx
