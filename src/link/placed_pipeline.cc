// A pipeline of which some chunk nodes are remote.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "link/remote_stage.h"

namespace syrinx {
namespace {

class PlacedPipeline : public Pipeline {
 public:
  PlacedPipeline(std::shared_ptr<const Pipeline> inner, const std::vector<Placement>& placements,
                 const LinkOptions& options)
      : inner_(std::move(inner)) {
    const Graph& graph = inner_->graph();
    std::map<std::string, LinkOptions> wanted;  // by address
    for (const Placement& placement : placements) {
      LinkOptions& link = wanted.try_emplace(placement.address, options).first->second;
      link.address = placement.address;
      NodeShape shape = shape_of(graph, placement.node);
      if (std::count(link.wanted.nodes.begin(), link.wanted.nodes.end(), shape) > 0) {
        throw LoadError("the node '" + placement.node + "' is placed twice at " +
                        placement.address);
      }
      link.wanted.nodes.push_back(std::move(shape));
    }
    std::map<std::string, std::vector<RemoteStage::Place>> places;  // by node
    for (const auto& [address, link_options] : wanted) {
      check_address(address, link_options.keys);
      const auto link = std::make_shared<StageLink>(link_options);
      uint16_t number = 0;
      for (const NodeShape& node : link_options.wanted.nodes) {
        places[node.name].push_back({link, number++});
      }
    }
    std::vector<Node> nodes(graph.nodes().begin(), graph.nodes().end());
    for (Node& node : nodes) {
      const auto found = places.find(node.name);
      if (found == places.end()) continue;
      stages_.push_back(std::make_unique<RemoteStage>(node.name, *node.chunk, found->second));
      names_.push_back(node.name);
      node.chunk = stages_.back().get();
    }
    graph_ = Graph(std::move(nodes), {graph.edges().begin(), graph.edges().end()});
  }

  const PipelineInfo& info() const override { return inner_->info(); }
  const Graph& graph() const override { return graph_; }
  const VoiceEncoder* voice_encoder() const override { return inner_->voice_encoder(); }
  Result<Voice> voice_of_embedding(std::span<const float> embedding) const override {
    return inner_->voice_of_embedding(embedding);
  }
  Result<SpeechRequest> dictation(const Dictation& dictation) const override {
    return inner_->dictation(dictation);
  }
  std::string dictated(std::string_view answer) const override { return inner_->dictated(answer); }
  Result<Opened> open(const SpeechRequest& request) const override {
    for (const auto& stage : stages_) {
      if (request.text_only) break;
      const auto places = stage->places();
      if (std::any_of(places.begin(), places.end(),
                      [](const auto& place) { return place.link->state().up; })) {
        continue;
      }
      return Error{ErrorCode::kOverloaded,
                   "a stage of this model is in another process, which is away: " +
                       places.front().link->state().trouble,
                   {},
                   1};
    }
    return inner_->open(request);
  }
  std::vector<RemoteNode> remote_nodes() const override {
    std::vector<RemoteNode> out;
    for (size_t i = 0; i < stages_.size(); ++i) {
      for (const RemoteStage::Place& place : stages_[i]->places()) {
        const LinkState link = place.link->state();
        out.push_back({.node = names_[i],
                       .where = place.link->options().address,
                       .up = link.up,
                       .trouble = link.trouble,
                       .connections = link.ups,
                       .batches = link.batches,
                       .lost_batches = link.lost_batches,
                       .sent_bytes = link.sent_bytes,
                       .received_bytes = link.received_bytes});
      }
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
  std::set<std::string> addresses;
  for (const Placement& placement : placements) addresses.insert(placement.address);
  return static_cast<int>(addresses.size());
}

std::shared_ptr<const Pipeline> place_stages(std::shared_ptr<const Pipeline> inner,
                                             const std::vector<Placement>& placements,
                                             LinkOptions options) {
  return std::make_shared<PlacedPipeline>(std::move(inner), placements, options);
}

}  // namespace syrinx
