#include "engine/resident.h"

#include <algorithm>

namespace syrinx {
namespace {

constexpr size_t kMostKvBytes = size_t{1} << 30, kMostGpuKvBytes = size_t{16} << 30;
constexpr int kTypicalPositions = 1024;
// On a GPU, a step of prompt rows should take as long as reading the weights, which each step does.
// With bf16 weights an H200 computes 185 rows in this time (788 TFLOP/s, 4.26 TB/s; docs/gpu.md).
// With fewer rows a prompt's steps mostly read weights. The largest tile of a product has 128 rows,
// so 256 rows fill two tiles. More rows would make other requests wait longer.
constexpr int kPrefillRows = 128, kGpuPrefillRows = 256;

}  // namespace

int pages_for(const ArStage& ar, const EngineOptions& options) {
  const ArTraits& traits = ar.traits();
  const size_t most = ar.device() == Device::kCpu ? kMostKvBytes : kMostGpuKvBytes;
  size_t page_bytes = 0;
  for (const KvSpec& spec : traits.kv) page_bytes += KvPool::page_bytes(spec);
  page_bytes = std::max<size_t>(page_bytes, 1);
  const int64_t longest = KvPool::pages_for(traits.max_positions);
  const int64_t wanted =
      options.max_batch * KvPool::pages_for(std::min(traits.max_positions, kTypicalPositions));
  const int64_t bought = options.kv_bytes
                             ? static_cast<int64_t>(options.kv_bytes / page_bytes)
                             : std::min<int64_t>(most / page_bytes, std::max(wanted, longest));
  return static_cast<int>(std::max<int64_t>(1, bought));
}

int prefill_rows_for(Device device, const EngineOptions& options) {
  if (options.max_prefill_rows > 0) return options.max_prefill_rows;
  return device == Device::kCpu ? kPrefillRows : kGpuPrefillRows;
}

ResidentModel::ResidentModel(std::shared_ptr<const Pipeline> p, const EngineOptions& o)
    : pipeline(std::move(p)), options(o), nodes(pipeline->graph().nodes().size()) {
  const Graph& g = graph();
  double pages = 0;
  for (size_t n = 0; n < nodes.size(); ++n) {
    const Node& from = g.node(static_cast<int>(n));
    ResidentNode& node = nodes[n];
    node.ar = from.ar, node.chunk = from.chunk;
    if (node.ar) {
      node.remote = node.ar->remote();
      node.pages =
          std::make_unique<Pages>(*node.ar, pages_for(*node.ar, options), options.share_prefixes);
      pages += node.pages->total();
    } else {
      const Edge& edge = g.feeding(static_cast<int>(n));
      node.policy = edge.policy;
      node.remote = node.chunk->remote();
      if (edge.from.node != kClient && g.node(edge.from.node).ar) {
        node.first_chunk = FirstChunk(edge.policy.initial, edge.policy.steady);
        if (first_link < 0) first_link = static_cast<int>(n);
      }
    }
    const Device device = node.ar ? node.ar->device() : node.chunk->device();
    node.metrics =
        &metrics.stages.emplace_back(from.name, node.remote ? "remote" : device_name(device));
  }
  // Goes back from the client along the chunk nodes; computes how many samples a frame yields.
  double samples = 1, width = 1;
  for (int n = g.speaker(); n != kClient && nodes[n].chunk; n = g.feeding(n).from.node) {
    samples *= nodes[n].chunk->most_out() * nodes[n].chunk->out_width() / width;
    nodes[n].samples_per_frame = samples;
    width = nodes[n].chunk->in_width();
    // If an AR node makes the frames, the model's frame rate gives the length of the audio. For a
    // stage that makes blocks, most_out() would give a length several times too large.
    const int from = g.feeding(n).from.node;
    const PipelineInfo& info = pipeline->info();
    if (from != kClient && g.node(from).ar && info.speech.frame_rate > 0)
      nodes[n].samples_per_frame = info.speech.sample_rate / info.speech.frame_rate;
  }
  label = pipeline->info().model;
  for (char& c : label) {
    if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < ' ') c = '_';
  }
  metrics.pages.set(pages);
  metrics.pages_free.set(pages);
}

ResidentModel::~ResidentModel() {
  for (const std::weak_ptr<KeptStream>& weak : kept) {
    if (const auto stream = weak.lock()) stream->drop();
  }
}

void ResidentModel::keep(ChunkRun& run) {
  const std::span<const int32_t> codes = run.lane.all().ints;
  run.kept->put({std::move(run.stream), {codes.begin(), codes.end()}}, *nodes[first_link].chunk);
  std::erase_if(kept, [&](const auto& weak) {
    const auto other = weak.lock();
    return !other || other == run.kept || !other->holds();
  });
  kept.push_back(run.kept);
  if (std::ssize(kept) <= options.max_batch) return;
  if (const auto oldest = kept.front().lock()) oldest->drop();
  kept.pop_front();
}

int ResidentModel::ar_nodes() const {
  return static_cast<int>(
      std::count_if(nodes.begin(), nodes.end(), [](const ResidentNode& n) { return n.ar; }));
}

}  // namespace syrinx
