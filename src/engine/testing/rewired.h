// For tests: a pipeline in which the chunk policies and windows of the edges are changed.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "base/thread_pool.h"
#include "model/pipeline.h"

namespace syrinx {

class RewiredPipeline : public Pipeline {
 public:
  RewiredPipeline(std::shared_ptr<const Pipeline> inner, FunctionRef<void(Edge&)> change)
      : inner_(std::move(inner)) {
    const Graph& graph = inner_->graph();
    std::vector<Edge> edges(graph.edges().begin(), graph.edges().end());
    for (Edge& edge : edges) change(edge);
    graph_ = Graph({graph.nodes().begin(), graph.nodes().end()}, edges);
  }
  const PipelineInfo& info() const override { return inner_->info(); }
  const Graph& graph() const override { return graph_; }
  Result<Opened> open(const SpeechRequest& request) const override { return inner_->open(request); }

 private:
  const std::shared_ptr<const Pipeline> inner_;
  Graph graph_;
};

inline std::shared_ptr<const Pipeline> rewired(std::shared_ptr<const Pipeline> inner,
                                               FunctionRef<void(Edge&)> change) {
  return std::make_shared<RewiredPipeline>(std::move(inner), change);
}

}  // namespace syrinx
