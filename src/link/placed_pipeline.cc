// A pipeline with some remote nodes.
#include <algorithm>
#include <map>
#include <utility>

#include "base/check.h"
#include "link/remote_ar_stage.h"
#include "link/remote_sequence.h"
#include "link/remote_stage.h"
#include "model/request_bytes.h"

namespace syrinx {
namespace {

class PlacedPipeline : public Pipeline {
 public:
  PlacedPipeline(std::shared_ptr<const Pipeline> inner, const std::vector<Placement>& placements,
                 const LinkOptions& options)
      : inner_(std::move(inner)) {
    const Graph& graph = inner_->graph();
    std::map<std::string, LinkOptions> wanted;  // options of links, by address
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
    std::map<std::string, std::vector<StageCopy>> copies;  // copies of stages, by node
    for (const auto& [address, link_options] : wanted) {
      check_address(address, link_options.keys);
      const auto link = std::make_shared<StageLink>(link_options);
      uint16_t number = 0;
      for (const NodeShape& node : link_options.wanted.nodes) {
        copies[node.name].push_back({link, number++});
      }
    }
    std::vector<Node> nodes(graph.nodes().begin(), graph.nodes().end());
    for (Node& node : nodes) {
      const auto found = copies.find(node.name);
      if (found == copies.end()) continue;
      copies_.emplace_back(node.name, found->second);
      if (node.ar) {
        steps_.push_back(std::make_unique<RemoteArStage>(node.name, *node.ar, found->second));
        node.ar = steps_.back().get();
      } else {
        chunks_.push_back(std::make_unique<RemoteStage>(node.name, *node.chunk, found->second));
        node.chunk = chunks_.back().get();
      }
    }
    for (const Node& node : nodes) {
      const bool remote = node.ar && node.ar->remote();
      if (node.ar) {
        remote_sequences_.push_back(remote ? static_cast<const RemoteArStage*>(node.ar) : nullptr);
      }
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
  Dictated dictated(const Dictation& asked, std::string_view answer, bool whole) const override {
    return inner_->dictated(asked, answer, whole);
  }
  Result<Opened> open(const SpeechRequest& request) const override {
    for (const auto& stage : chunks_) {
      if (!request.writing.text_only && !is_up(stage->copies())) return all_down(stage->copies());
    }
    Result<Opened> opened = inner_->open(request);
    if (!opened.ok() || steps_.empty()) return opened;
    std::shared_ptr<const std::string> bytes;
    for (size_t i = 0; i < remote_sequences_.size(); ++i) {
      std::unique_ptr<Sequence>& sequence = opened.value().sequences[i];
      const RemoteArStage* stage = remote_sequences_[i];
      if (!stage || !sequence) continue;
      if (!is_up(stage->copies())) return all_down(stage->copies());
      if (!bytes) {
        Result<std::string> made = request_bytes(request);
        if (!made.ok()) return made.error();
        if (made.value().size() > kMostMessage / 2) {
          return Error{ErrorCode::kInvalid,
                       concat("a request of ", made.value().size(),
                              " bytes is too large for another process"),
                       "input"};
        }
        bytes = std::make_shared<const std::string>(made.take());
      }
      sequence = std::make_unique<RemoteSequence>(std::move(sequence), bytes,
                                                  stage->copies()[0].link->options().kept_bytes);
    }
    return opened;
  }
  std::vector<RemoteNode> remote_nodes() const override {
    std::vector<RemoteNode> out;
    for (const auto& [node, copies] : copies_) {
      for (const StageCopy& copy : copies) {
        const LinkState link = copy.link->state();
        out.push_back({.node = node,
                       .where = copy.link->options().address,
                       .up = link.takes(),
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
  static bool is_up(std::span<const StageCopy> copies) {
    return std::any_of(copies.begin(), copies.end(),
                       [](const StageCopy& copy) { return copy.link->state().takes(); });
  }
  static Error all_down(std::span<const StageCopy> copies) {
    return {ErrorCode::kOverloaded,
            "a stage of this model is in another process, which is not connected: " +
                copies.front().link->state().trouble,
            {},
            1};
  }

  const std::shared_ptr<const Pipeline> inner_;
  std::vector<std::pair<std::string, std::vector<StageCopy>>> copies_;  // copies of stages, by node
  std::vector<std::unique_ptr<RemoteStage>> chunks_;
  std::vector<std::unique_ptr<RemoteArStage>> steps_;
  std::vector<const RemoteArStage*> remote_sequences_;  // for each AR node; null if not remote
  Graph graph_;
};

}  // namespace

std::shared_ptr<const Pipeline> place_stages(std::shared_ptr<const Pipeline> inner,
                                             const std::vector<Placement>& placements,
                                             LinkOptions options) {
  return std::make_shared<PlacedPipeline>(std::move(inner), placements, options);
}

}  // namespace syrinx
