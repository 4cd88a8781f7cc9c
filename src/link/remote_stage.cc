#include "link/remote_stage.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/bytes.h"
#include "base/check.h"

namespace syrinx {
namespace {

/// Values of 4 bytes as they lie in memory.
template <typename T>
std::string_view bytes_of(std::span<const T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

}  // namespace

struct RemoteStage::Stream : StreamState {
  ~Stream() override {
    if (epoch > 0) link->close_stream(epoch, number);
  }
  std::shared_ptr<StageLink> link;
  std::unique_ptr<StreamState> here;  ///< what cut() reads
  std::string bundle;                 ///< until it has been sent
  uint64_t number = 0;
  uint64_t epoch = 0;  ///< of the connection that it lives on; 0: it has not been opened
  int64_t at = 0;      ///< frames that were fresh
};

RemoteStage::RemoteStage(std::string name, const ChunkStage& here, std::shared_ptr<StageLink> link,
                         uint16_t node)
    : name_(std::move(name)), here_(here), link_(std::move(link)), node_(node) {}

std::unique_ptr<StreamState> RemoteStage::open(Bundle bundle) const {
  auto stream = std::make_unique<Stream>();
  stream->link = link_;
  stream->number = link_->new_number();
  bundle.append_to(stream->bundle);
  stream->here = here_.open(std::move(bundle));
  return stream;
}

int RemoteStage::cut(const StreamState& stream, const WaitingFrames& waiting, int planned) const {
  return here_.cut(*static_cast<const Stream&>(stream).here, waiting, planned);
}

Error RemoteStage::lost() const {
  return {
      ErrorCode::kOverloaded,
      "the process of the stage '" + name_ + "' went away while it was at work for this request",
      {},
      1};
}

void RemoteStage::run(StepContext&, std::span<ChunkJob> jobs) const {
  const uint64_t epoch = link_->epoch();
  PushMessage push{.batch = link_->new_number(), .node = node_, .jobs = {}};
  std::vector<ChunkJob*> sent;
  std::string bytes;
  for (ChunkJob& job : jobs) {
    auto& stream = *static_cast<Stream*>(job.state);
    job.made = 0;
    if (epoch == 0 || (stream.epoch != 0 && stream.epoch != epoch)) {
      job.fault = lost();
      continue;
    }
    if (stream.epoch == 0) {
      stream.epoch = epoch;
      append_open(bytes, {stream.number, node_, stream.bundle});
      stream.bundle = {};
    }
    push.jobs.push_back({.stream = stream.number,
                         .at = stream.at,
                         .left = static_cast<uint32_t>(job.left),
                         .fresh = static_cast<uint32_t>(job.fresh),
                         .ahead = static_cast<uint32_t>(job.ahead),
                         .last = job.last,
                         .window = job.codes.empty() ? bytes_of(job.values) : bytes_of(job.codes)});
    sent.push_back(&job);
  }
  if (sent.empty()) return;
  append_push(bytes, push);
  Result<Message> answer = link_->exchange(epoch, push.batch, std::move(bytes));
  try {
    if (answer.ok()) return take(answer.value().body, push.batch, sent);
  } catch (const LoadError& e) {
    link_->drop(epoch, e.what());
  }
  for (ChunkJob* job : sent) job->fault = lost();
}

/// Throws LoadError where the answer does not fit the question.
void RemoteStage::take(std::string_view body, uint64_t batch,
                       std::span<ChunkJob* const> jobs) const {
  const MadeMessage made = read_made(body);
  if (made.batch != batch || made.jobs.size() != jobs.size()) {
    throw LoadError(concat("it made ", made.jobs.size(), " of ", jobs.size(), " chunks"));
  }
  const auto most = static_cast<uint64_t>(most_out());
  const auto width = static_cast<uint64_t>(out_width());
  for (size_t i = 0; i < jobs.size(); ++i) {
    const MadeJob& from = made.jobs[i];
    ChunkJob& job = *jobs[i];
    const uint64_t values = uint64_t{from.made} * width;
    if (!from.fault && (from.made > static_cast<uint64_t>(job.fresh) * most ||
                        from.values.size() != values * sizeof(float))) {
      throw LoadError(concat("it made ", from.made, " frames and ", from.values.size(),
                             " bytes of ", job.fresh, " frames"));
    }
  }
  for (size_t i = 0; i < jobs.size(); ++i) {
    const MadeJob& from = made.jobs[i];
    ChunkJob& job = *jobs[i];
    if (from.fault) {
      job.fault = Error{ErrorCode::kInternal, "the stage '" + name_ + "': " + *from.fault};
      continue;
    }
    ByteReader(from.values, "values").array(job.out.first(uint64_t{from.made} * width));
    job.made = static_cast<int>(from.made);
    auto& stream = *static_cast<Stream*>(job.state);
    stream.at += job.fresh;
    here_.follow(*stream.here, job);
  }
}

// ---------------------------------------------------------------------------- pipeline

namespace {

class PlacedPipeline : public Pipeline {
 public:
  PlacedPipeline(std::shared_ptr<const Pipeline> inner, const std::vector<Placement>& placements,
                 const LinkOptions& options)
      : inner_(std::move(inner)) {
    const Graph& graph = inner_->graph();
    std::map<std::string, LinkOptions> wanted;
    std::map<std::string, std::string> path_of;
    for (const Placement& placement : placements) {
      LinkOptions& link = wanted.try_emplace(placement.path, options).first->second;
      link.path = placement.path;
      link.wanted.nodes.push_back(shape_of(graph, placement.node));
      if (!path_of.emplace(placement.node, placement.path).second) {
        throw LoadError("the node '" + placement.node + "' is placed twice");
      }
    }
    std::vector<Node> nodes(graph.nodes().begin(), graph.nodes().end());
    std::map<std::string, std::shared_ptr<StageLink>> links;
    std::map<std::string, uint16_t> counts;
    for (const Placement& placement : placements) {
      auto& link = links[placement.path];
      if (!link) link = std::make_shared<StageLink>(wanted.at(placement.path));
      const auto node = std::find_if(nodes.begin(), nodes.end(),
                                     [&](const Node& n) { return n.name == placement.node; });
      stages_.push_back(std::make_unique<RemoteStage>(placement.node, *node->chunk, link,
                                                      counts[placement.path]++));
      names_.push_back(placement.node);
      node->chunk = stages_.back().get();
    }
    graph_ = Graph(std::move(nodes), {graph.edges().begin(), graph.edges().end()});
  }

  const PipelineInfo& info() const override { return inner_->info(); }
  const Graph& graph() const override { return graph_; }
  const VoiceEncoder* voice_encoder() const override { return inner_->voice_encoder(); }
  Result<Voice> voice_of_embedding(std::span<const float> embedding) const override {
    return inner_->voice_of_embedding(embedding);
  }
  Result<Opened> open(const SpeechRequest& request) const override {
    for (const auto& stage : stages_) {
      const LinkState link = stage->link().state();
      if (link.up || request.text_only) continue;
      return Error{ErrorCode::kOverloaded,
                   "a stage of this model is in another process, which is away: " + link.trouble,
                   {},
                   1};
    }
    return inner_->open(request);
  }
  std::vector<RemoteNode> remote_nodes() const override {
    std::vector<RemoteNode> out;
    for (size_t i = 0; i < stages_.size(); ++i) {
      const LinkState link = stages_[i]->link().state();
      out.push_back({names_[i], stages_[i]->link().path(), link.up, link.trouble, link.ups,
                     link.batches, link.lost_batches, link.sent_bytes, link.received_bytes});
    }
    return out;
  }

 private:
  const std::shared_ptr<const Pipeline> inner_;
  std::vector<std::string> names_;
  std::vector<std::unique_ptr<RemoteStage>> stages_;
  Graph graph_;
};

}  // namespace

int away_places(const std::vector<Placement>& placements) {
  std::set<std::string> paths;
  for (const Placement& placement : placements) paths.insert(placement.path);
  return static_cast<int>(paths.size());
}

std::shared_ptr<const Pipeline> place_stages(std::shared_ptr<const Pipeline> inner,
                                             const std::vector<Placement>& placements,
                                             LinkOptions options) {
  return std::make_shared<PlacedPipeline>(std::move(inner), placements, options);
}

}  // namespace syrinx
