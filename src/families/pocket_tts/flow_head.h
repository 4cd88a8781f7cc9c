// The head of Pocket TTS, which makes a latent from noise and a row of the language model in one
// step: an MLP whose blocks the row modulates. Const after construction, shared by threads. Rows do
// not influence each other. Network: pocket_tts/modules/mlp.py, SimpleMLPAdaLN. E: rows.
// W: width of the head.
#pragma once

#include <vector>

#include "families/pocket_tts/config.h"
#include "nn/layers.h"

namespace syrinx::pocket_tts {

class FlowHead {
 public:
  /// Loads the head. `weights`: the scope "flow_net.".
  FlowHead(const ModelConfig& config, const Weights& weights, WeightType type);
  /// Moves the weights, for operands on the device.
  void move_to(Device device);
  /// Computes condition [E, ModelConfig::condition], noise [E, latent] -> out [E, latent].
  void run(StepContext& ctx, const View& condition, const View& noise, const View& out) const;
  size_t bytes() const;

 private:
  struct Block {
    LayerNorm norm;
    PackedLinear modulation, up, down;  // modulation: W -> 3 W (shift, scale, gate)
  };
  ModelConfig config_;
  PackedLinear in_, condition_, last_modulation_, out_;
  std::vector<Block> blocks_;
  Tensor time_;          // [W], mean of the embeddings of times 0 and 1; only with kDistilled
  Tensor ones_, zeros_;  // [W], for the last norm
};

}  // namespace syrinx::pocket_tts
