#include "runtime/runtime.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <set>

#include "base/check.h"
#include "base/clock.h"
#include "base/cores.h"
#include "base/program_path.h"
#include "engine/collector.h"
#include "engine/machine.h"
#include "families/family.h"
#include "families/model_file.h"
#include "families/unfinished.h"
#include "io/digest.h"
#include "io/file.h"
#include "io/hub.h"
#include "io/json.h"
#include "io/known_models.h"
#include "io/taken_bytes.h"
#include "kernels/cpu/gemm_sets.h"
#include "kernels/packing.h"
#include "model/step.h"
#include "nn/weights_cache.h"
#include "runtime/devices.h"
#include "runtime/executors.h"
#include "runtime/fingerprint.h"

namespace syrinx {
namespace {

/// Returns the directories that may contain the built-in voices: only voices_dir if it is set, else
/// one beside the program, one in the source tree of a build folder, and the installed one.
std::vector<std::string> voice_places(const LoadOptions& options) {
  if (!options.voices_dir.empty()) return {options.voices_dir};
  const std::string here = program_path().parent_path().string();
  return {join_path(here, "voices"), join_path(here, "../voices"), join_path(here, "../../voices"),
          join_path(here, "../share/syrinx/voices")};
}

std::optional<std::string> find_voice(const LoadOptions& options) {
  for (const std::string& place : voice_places(options)) {
    const std::string dir = join_path(place, options.model);
    if (is_file(join_path(dir, "config.json"))) return dir;
  }
  return std::nullopt;
}

/// Throws an error that names the searched directories, because a copied program may lack voices.
[[noreturn]] void no_voice(const LoadOptions& options) {
  std::string places;
  for (const std::string& place : voice_places(options)) {
    const auto path = std::filesystem::path(place).lexically_normal();
    places += (places.empty() ? "" : ", ") + path.string();
  }
  throw LoadError(concat("model ", shown(options.model),
                         ": found no built-in voice of that name in ", places,
                         ". Copy the folder 'voices' beside the program, or give a "
                         "model's directory, Org/Name or a name of 'syrinx hub list'"));
}

/// For "auto" on a CPU, returns 8 bits: almost as exact as the checkpoint's own type, with half as
/// many bytes to read (docs/decisions/0012). For "auto" on a GPU, returns bf16.
WeightType weight_type(const std::string& name, Device device) {
  if (name == "auto") return device == Device::kCpu ? WeightType::kQ8 : WeightType::kBF16;
  for (WeightType type : {WeightType::kF32, WeightType::kBF16, WeightType::kQ8, WeightType::kQ8A8,
                          WeightType::kQ4, WeightType::kMixed}) {
    if (name == weight_type_name(type)) return type;
  }
  throw LoadError("--weights " + name + ": expected auto, f32, bf16, q8, q8a8, q4 or mixed");
}

constexpr std::string_view kConfig = "config.json";

/// Returns whether a file other than config.json identifies checkpoints of a family.
bool has_marker(const Family& family) { return family.marker && family.marker != kConfig; }

/// Returns the names of files that identify a directory as a model, each once.
std::vector<std::string> markers() {
  std::vector<std::string> out{std::string(kConfig)};
  const auto add = [&out](const char* marker) {
    if (std::ranges::find(out, marker) == out.end()) out.emplace_back(marker);
  };
  for (const Family& family : families())
    if (has_marker(family)) add(family.marker);
  for (const Unfinished& each : unfinished()) add(each.marker);
  return out;
}

}  // namespace

// Returns "Name" for "Org/Name@rev", "/path/Name/" and "/path/Name.gguf".
std::string model_name(std::string name) {
  if (const size_t at = name.rfind('@'); at != std::string::npos && at > name.rfind('/')) {
    name.resize(at);
  }
  while (name.size() > 1 && name.back() == '/') name.pop_back();
  const size_t slash = name.rfind('/');
  if (slash != std::string::npos) name.erase(0, slash + 1);
  for (const Family& family : families()) {
    const size_t ending = family.ending_of(name).size();
    if (ending == 0) continue;
    name.erase(name.size() - ending);
    break;
  }
  return name;
}

namespace {

/// Where a model is, and its family.
struct FoundModel {
  const Family* family = nullptr;
  std::string dir;
};

/// Returns the family whose checkpoints have this file instead of a config.json; null for others.
const Family* family_of_marker(const std::string& name) {
  const auto found = std::ranges::find_if(families(), [&](const Family& family) {
    return !family.claims && has_marker(family) && family.marker == name;
  });
  return found == families().end() ? nullptr : &*found;
}

/// Finds a model of one file: `path`, or the only such file in a directory without another model.
/// `path` may also be the file that identifies a checkpoint, where a directory has several.
/// Throws LoadError if a directory has several, or if `path` is another file.
std::optional<FoundModel> find_model_file(const std::string& path) {
  if (is_file(path)) {
    if (const Family* family = family_of_file(path)) return FoundModel{family, path};
    const std::filesystem::path file(path);
    if (const Family* family = family_of_marker(file.filename().string())) {
      return FoundModel{family, file.has_parent_path() ? file.parent_path().string() : "."};
    }
    if (path.ends_with(".ckpt")) {
      throw LoadError(concat(path,
                             ": is a training checkpoint; export the voice of Piper with "
                             "python3 -m piper.train.export_onnx and give the .onnx"));
    }
    std::string known;
    for (const Family& family : families()) {
      if (!family.ending_of(path).empty()) {
        throw LoadError(path + ": has only a part of a model (a codec); give the model's file");
      }
      for (const std::string_view ending : family.file_endings)
        if (!ending.empty()) known += concat(known.empty() ? "" : ", ", ending);
    }
    throw LoadError(
        concat(path, ": expected a model's directory, or a file of a known ending (", known, ")"));
  }
  const std::vector<std::string> known = markers();
  const auto there = [&](const std::string& marker) { return is_file(join_path(path, marker)); };
  if (!is_directory(path) || std::ranges::any_of(known, there)) return {};
  std::optional<FoundModel> found;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    if (!entry.is_regular_file()) continue;
    const Family* family = family_of_file(entry.path().string());
    if (family == nullptr) continue;
    if (found) throw LoadError(path + ": has several models; name one of its files");
    found = FoundModel{family, entry.path().string()};
  }
  return found;
}

/// Returns whether a directory's marker belongs to `family`. `lenient`: a marker that is not a
/// config belongs to no family, and does not throw LoadError.
bool is_of(const Family& family, const std::string& marker, bool lenient) try {
  return !family.claims || family.claims(Config::load(marker));
} catch (const LoadError&) {
  if (!lenient) throw;
  return false;
}

FoundModel find_model(const LoadOptions& options) {
  const bool plain = options.model.find('/') == std::string::npos;
  std::string path = options.model;
  std::optional<std::string> voice;
  if (plain && !is_directory(options.model)) {
    voice = find_voice(options);
    if (!voice && !is_file(options.model)) {
      const auto known = find_known_model(options.model);
      if (!known) no_voice(options);
      path = resolve_known_model(*known, hub_cache());
    }
  }
  if (!voice) {
    if (auto file = find_model_file(path)) return *file;
  }
  const std::string dir = voice ? *voice : resolve_model(path, hub_cache(), markers());
  const std::string config_path = join_path(dir, std::string(kConfig));
  for (const Family& family : families()) {
    if (!has_marker(family)) continue;
    const std::string marker = join_path(dir, family.marker);
    if (is_file(marker) && is_of(family, marker, is_file(config_path))) return {&family, dir};
  }
  for (const Unfinished& each : unfinished()) {
    if (is_file(config_path) || !is_file(join_path(dir, each.marker))) continue;
    throw LoadError(concat(dir, ": has ", each.marker, " and no config.json; ", each.needs));
  }
  const Config config = Config::load(config_path);
  std::string known;
  for (const Family& family : families()) {
    if (family.claims && !has_marker(family) && family.claims(config)) return {&family, dir};
    if (!known.ends_with(family.name))  // a family may have a row for each of its layouts
      known += (known.empty() ? "" : ", ") + std::string(family.name);
  }
  throw LoadError(config_path + ": model_type \"" + config.opt_s("model_type", "(none)") +
                  "\" belongs to no known family (" + known + ")");
}

Introduction introduce(const LoadOptions& options, const FoundModel& found) {
  const Devices devices = devices_for(options.device, *found.family);
  const Device device = devices.model;
  const auto kind = [](Device each) {
    return each == Device::kCpu ? std::string(cpu::gemm_set().name) : std::string("cuda");
  };
  std::string kernels = kind(device);
  for (const auto& [node, its] : devices.nodes) {
    if (kind(its) != kind(device)) kernels += concat(" ", node, "=", kind(its));
  }
  return {SYRINX_VERSION,
          kernels,
          concat(found.family->name, " ", weight_type_name(weight_type(options.weights, device)),
                 options.dummy ? " dummy " : " ", fingerprint(found.dir)),
          {}};
}

/// Returns text that names the loaded part of a model; "" if all parts are loaded.
std::string parts_of(const LoadOptions& options) {
  std::set<std::string> nodes(options.held_nodes.begin(), options.held_nodes.end());
  for (const Placement& placement : options.placements) nodes.insert(placement.node);
  if (nodes.empty()) return {};
  std::string out = options.held_nodes.empty() ? "\nall but" : "\nonly";
  for (const std::string& node : nodes) out += " " + node;
  return out;
}

/// Returns text that names the kinds of devices, because some families pack for a kind.
std::string kinds_of(const LoadSpec& spec) {
  const auto kind = [](Device device) { return device == Device::kCpu ? "cpu" : "cuda"; };
  std::string out = kind(spec.device);
  for (const auto& [node, device] : spec.devices) out += concat(" ", node, "=", kind(device));
  return out;
}

/// Returns the cache for the weights of a model; null without a cache. Increase kPacking whenever
/// matrices are packed in another way, because the cache itself detects this only late.
std::unique_ptr<WeightsCache> weights_cache(const LoadOptions& options, const FoundModel& found,
                                            const LoadSpec& spec) {
  constexpr int kPacking = 3;
  if (options.dummy || options.weights_cache == "off") return nullptr;
  const bool automatic = options.weights_cache == "auto";
  const std::string dir = automatic ? default_weights_cache() : options.weights_cache;
  if (dir.empty()) return nullptr;
  const ModelStamp model = stamp(found.dir);
  if (automatic && model.bytes < kCachedFrom) return nullptr;
  const std::string key = sha256_hex(concat(
      SYRINX_VERSION, "\n", kPacking, "\n", found.family->name, "\n",
      weight_type_name(spec.weights), "\n", kinds_of(spec), "\n", model.digest, parts_of(options)));
  WeightsCacheOptions cache;
  cache.path = join_path(dir, key.substr(0, 32) + WeightsCache::kSuffix);
  cache.key = key;
  cache.copied = options.node >= 0;
  cache.say = [log = options.log](const std::string& what) {
    if (log) return log("syrinx: " + what);
    std::fprintf(stderr, "syrinx: %s\n", what.c_str());
  };
  return std::make_unique<WeightsCache>(std::move(cache));
}

}  // namespace

namespace {

/// Returns a function that returns whether a node's stage runs in another process.
std::function<bool(std::string_view)> elsewhere(const LoadOptions& options) {
  const bool holds = !options.held_nodes.empty();
  std::vector<std::string> nodes = options.held_nodes;
  if (!holds) {
    for (const Placement& placement : options.placements) nodes.push_back(placement.node);
  }
  return [holds, nodes](std::string_view node) {
    const bool named = std::find(nodes.begin(), nodes.end(), node) != nodes.end();
    return named != holds;
  };
}

/// Reports loaded tensors, and the end of the load.
class ProgressReports {
 public:
  ProgressReports(const LoadOptions& options, const std::string& dir) : report_(options.progress) {
    if (!report_ || options.dummy) return;
    progress_ = {
        .model = model_name(options.model), .total_bytes = stamp(dir).bytes, .began_s = now_s()};
    taken_.emplace([this](int64_t bytes) {
      progress_.done_bytes += bytes;
      report_(progress_);
    });
  }
  ~ProgressReports() {
    if (!taken_) return;
    progress_.ended = true;
    report_(progress_);
  }
  ProgressReports(const ProgressReports&) = delete;
  ProgressReports& operator=(const ProgressReports&) = delete;

 private:
  const std::function<void(const ModelProgress&)>& report_;
  ModelProgress progress_;
  std::optional<TakenBytes> taken_;
};

std::shared_ptr<const Pipeline> load_on(Device device, const NodeDevices& nodes,
                                        const LoadOptions& options, const FoundModel& found) {
  LoadSpec spec{found.dir, model_name(options.model), weight_type(options.weights, device),
                options.dummy, device};
  spec.devices = nodes;
  if (spec.device == Device::kCpu && nodes.empty()) spec.elsewhere = elsewhere(options);
  ThreadPool pool(options.engine.threads);
  const std::unique_ptr<WeightsCache> cache = weights_cache(options, found, spec);
  const PackingScope scope(&pool, cache.get());
  const ProgressReports reports(options, found.dir);
  std::shared_ptr<const Pipeline> pipeline = found.family->load(spec);
  if (cache) cache->finish();
  return pipeline;
}

}  // namespace

void find_checkpoint(const LoadOptions& options) {
  const FoundModel found = find_model(options);
  const Devices devices = devices_for(options.device, *found.family);
  if (devices.nodes.empty()) return;
  // The graph has the names of the nodes, and needs no memory for weights.
  LoadSpec spec{found.dir, model_name(options.model), WeightType::kF32, true};
  spec.elsewhere = [](std::string_view) { return true; };
  check_nodes(devices.nodes, found.family->load(spec)->graph());
}

std::shared_ptr<const PipelineInfo> facts_of(const LoadOptions& options) try {
  const FoundModel found = find_model(options);
  if (found.family->facts == nullptr) return nullptr;
  return found.family->facts({.dir = found.dir, .model = model_name(options.model)});
} catch (const LoadError&) {
  return nullptr;  // loading the model reports the reason
}

std::shared_ptr<const Pipeline> load_pipeline(const LoadOptions& options) {
  const FoundModel found = find_model(options);
  const Devices devices = devices_for(options.device, *found.family);
  for (const Placement& placement : options.placements) {
    if (devices.nodes.contains(placement.node)) {
      throw LoadError("--device " + placement.node + "=...: this stage runs in another process");
    }
  }
  std::shared_ptr<const Pipeline> pipeline = load_on(devices.model, devices.nodes, options, found);
  check_devices(devices.nodes, pipeline->graph());
  if (options.placement_file) check_placement(*options.placement_file, pipeline->graph());
  if (options.placements.empty()) return pipeline;
  return place_stages(std::move(pipeline), options.placements,
                      {.address = {},
                       .keys = options.stage_keys,
                       .wanted = introduce(options, found),
                       .log = options.log});
}

Introduction introduce(const LoadOptions& options) {
  return introduce(options, find_model(options));
}

namespace {

constexpr int kFewThreads = 4;  // fewer threads count as few; measured with two threads

/// Returns the executors for weights of this size; see executors_alone().
Executors executors_for_bytes(size_t bytes, int threads) {
  constexpr size_t kMoreThanCaches = size_t{256} << 20;
  const bool shared = threads == 1 || (threads < kFewThreads && bytes > kMoreThanCaches);
  return shared ? Executors::kShared : Executors::kSplit;
}

/// Returns whether a client waits for chunks that are longer than any sentence.
bool chunks_are_utterances(const Pipeline& pipeline) {
  constexpr double kLong_s = 30;
  const Graph& graph = pipeline.graph();
  const int speaker = graph.speaker();
  if (speaker == kClient || graph.node(speaker).chunk == nullptr) return false;
  return graph.feeding(speaker).policy.steady > kLong_s * pipeline.info().speech.frame_rate;
}

/// Returns whether the model receives recordings and does not speak: a recogniser.
bool only_hears(const Pipeline& pipeline) {
  const Graph& graph = pipeline.graph();
  return !pipeline.info().speaks && std::ranges::any_of(graph.edges(), [&](const Edge& edge) {
    const ChunkStage* const fed =
        edge.from.node == kClient ? graph.node(edge.to.node).chunk : nullptr;
    return fed != nullptr && fed->in().flow == Flow::kSamples;
  });
}

}  // namespace

Executors executors_for(const Pipeline& pipeline, int threads) {
  const bool waits = chunks_are_utterances(pipeline) || only_hears(pipeline);
  if (threads < kFewThreads && waits) return Executors::kShared;
  return executors_alone(pipeline.info(), threads);
}

Executors executors_alone(const PipelineInfo& info, int threads) {
  size_t bytes = 0;
  for (const PartInfo& part : info.parts) bytes += part.bytes;
  return executors_for_bytes(bytes, threads);
}

std::shared_ptr<Machine> shared_machine(const std::vector<LoadOptions>& models) {
  SYRINX_CHECK(!models.empty(), "[runtime] a machine needs the options of a model");
  EngineOptions options = models.front().engine;
  size_t most_bytes = 0;
  bool on_cpu = true;
  for (const LoadOptions& model : models) {
    try {
      const FoundModel found = find_model(model);
      on_cpu = on_cpu && devices_for(model.device, *found.family).model == Device::kCpu;
      most_bytes = std::max(most_bytes, static_cast<size_t>(stamp(found.dir).bytes));
    } catch (const LoadError&) {
      continue;  // its load reports why
    }
  }
  if (!options.executors && on_cpu) {
    options.executors =
        executors_for_bytes(most_bytes, options.threads > 0 ? options.threads : usable_cores());
  }
  return std::make_shared<Machine>(options);
}

std::unique_ptr<Engine> load_engine(const LoadOptions& options, std::shared_ptr<Machine> machine) {
  EngineOptions engine = options.engine;
  engine.remote_slots = remote_slots(options.placements);
  if (!options.lexicon.empty()) engine.lexicon = load_lexicon(options.lexicon);
  std::shared_ptr<const Pipeline> pipeline = load_pipeline(options);
  const bool on_cpu = pipeline->graph().ar().device() == Device::kCpu;
  if (!machine && !engine.executors && engine.remote_slots == 0 && on_cpu) {
    const int threads = engine.threads > 0 ? engine.threads : usable_cores();
    engine.executors = executors_for(*pipeline, threads);
  }
  return std::make_unique<Engine>(std::move(pipeline), engine, std::move(machine));
}

void warm_up(Engine& engine, int max_batch, double most_s) {
  const double until_s = now_s() + most_s;
  const bool on_cpu = engine.pipeline().graph().ar().device() == Device::kCpu;
  const int most = on_cpu ? 1 : max_batch;
  SpeechRequest request;
  request.say.text = "Hello.";
  // Enough for a first and a later chunk; on a GPU, enough steps to record the repeated launches.
  request.terms.max_frames = on_cpu ? 6 : 16;
  for (int crowd = 1; crowd <= most && (crowd == 1 || now_s() < until_s);
       crowd = step_bucket(crowd + 1)) {
    std::vector<std::shared_ptr<Collector>> listeners;
    for (int i = 0; i < crowd; ++i) {
      listeners.push_back(std::make_shared<Collector>());
      if (!engine.submit(request, listeners.back()).ok()) listeners.pop_back();
    }
    for (const auto& listener : listeners) listener->wait();
  }
}

}  // namespace syrinx
