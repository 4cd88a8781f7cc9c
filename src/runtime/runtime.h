// The entry point of the library: loads a model by name or directory and returns its engine. The
// only room that joins families, engine and device. Thread-safe after load.
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
  std::string model;        ///< model_name()
  int64_t done_bytes = 0;   ///< bytes of tensors taken from the checkpoint
  int64_t total_bytes = 0;  ///< size of the checkpoint's files, some of which may be unused
  double began_s = 0;       ///< now_s() at the beginning
  bool ended = false;       ///< true in the last call: loaded or failed
};

struct LoadOptions {
  /// The model to load: "finch" or "wren" (the built-in voice and text model), a checkpoint
  /// directory, or Org/Name[@revision] as found in the hub's local cache.
  std::string model = "finch";
  /// The storage type of weights: auto, or the name of a WeightType.
  std::string weights = "auto";
  /// Where packed weights are stored for the next start: a directory; auto, which is
  /// default_weights_cache() for checkpoints of at least kCachedFrom bytes; or off.
  std::string weights_cache = "auto";
  /// The NUMA node on whose cores the caller runs (base/cores.h): weights are copied there.
  int node = -1;
  std::string device = "auto";  ///< cpu, cuda, or auto: cuda if build and machine support it
  bool dummy = false;           ///< random weights for the config, for measurements
  std::string voices_dir;  ///< directory of built-in voices; empty: searched beside the program
  /// The nodes whose stages run in other processes (StageServer); this process connects to them.
  std::vector<Placement> placements;
  /// The file that `placements` come from. If it lacks a node of the model, the model is not
  /// loaded.
  std::optional<PlacementFile> placement_file;
  StageKeys stage_keys;  ///< keys for links to other hosts
  /// The nodes that run in this process, for other processes (StageServer); empty: all. On a CPU,
  /// weights of networks that run elsewhere use no memory here.
  std::vector<std::string> held_nodes;
  std::string lexicon;  ///< path of a file of pronunciations (text/lexicon.h); empty: none
  /// Receives log lines about links and packed weights; any thread. If empty, lines about weights
  /// are written to the standard error.
  std::function<void(const std::string&)> log;
  /// Called for each tensor, and at the end, by the loading thread. Not called for random weights.
  std::function<void(const ModelProgress&)> progress;
  EngineOptions engine;
};

/// Smaller checkpoints are packed quickly enough without a cache.
constexpr int64_t kCachedFrom = int64_t{64} << 20;

/// Returns the name that clients use for `model`: its last part, without a revision.
std::string model_name(std::string model);

/// Throws LoadError if load_pipeline() would not find a model, or not one of a known family.
void find_checkpoint(const LoadOptions& options);

/// Returns the properties of a model before it is loaded, for families that read them from small
/// files (Piper). Null for other families, or if the files cannot be read.
std::shared_ptr<const PipelineInfo> facts_of(const LoadOptions& options);

/// Finds the family of a directory's config.json and loads the model with it. Throws LoadError.
std::shared_ptr<const Pipeline> load_pipeline(const LoadOptions& options);

/// Returns this process's Introduction for a link, without nodes: the program's version, the
/// instruction set of its kernels, and the model's family, weights and their hash. Reads parts of
/// the model's files. Throws LoadError.
Introduction introduce(const LoadOptions& options);

/// Returns the executors for a model that has `threads` threads of a CPU to itself. If there are
/// few threads and the weights exceed a cache, all threads run one batch: a step then waits for
/// memory, which one core cannot saturate, and with two executors half of the threads would wait
/// for the other half.
Executors executors_alone(const PipelineInfo& info, int threads);

/// Loads a model and its engine: on `machine`, or else on a machine of its own, with
/// executors_alone() if the options name no executors. Throws LoadError.
std::unique_ptr<Engine> load_engine(const LoadOptions& options,
                                    std::shared_ptr<Machine> machine = nullptr);

/// Runs requests and drops their speech, so that the first client finds pages mapped and threads
/// running. On a GPU, also runs 2, 4, ... `max_batch` requests together, so that the launches of a
/// step are recorded (Stream::repeat). After `most_s` seconds no further group begins.
void warm_up(Engine& engine, int max_batch, double most_s = 3);

}  // namespace syrinx
