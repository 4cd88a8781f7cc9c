// Members of every loaded model: a graph, the facts about the model, and a voice encoder. A
// family's class derives from it and sets them when it loads. Const after construction.
#pragma once

#include <memory>

#include "families/family.h"
#include "io/weights.h"
#include "model/pipeline.h"

namespace syrinx {

class LoadedPipeline : public Pipeline {
 public:
  const PipelineInfo& info() const override { return info_; }
  const Graph& graph() const override { return graph_; }
  const VoiceEncoder* voice_encoder() const override { return voices_.get(); }

 protected:
  void name(const char* family, const LoadSpec& spec, const char* licence) {
    info_.family = family;
    info_.model = spec.model;
    info_.licence = licence;
  }

  /// Returns the request of a model whose sequence runs alone.
  template <typename State>
  static Result<Opened> opened(Result<std::unique_ptr<State>> sequence) {
    if (!sequence) return sequence.error();
    return Opened(sequence.take());
  }

  PipelineInfo info_;
  Graph graph_;
  /// Weights, kept only if networks read tables in the mapped file or are loaded from them later.
  std::unique_ptr<Weights> weights_;
  std::unique_ptr<const VoiceEncoder> voices_;  // null: the model makes no voices of recordings
};

}  // namespace syrinx
