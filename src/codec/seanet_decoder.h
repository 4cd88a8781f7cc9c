// The decoder of ESPnet's SEANet codecs: convolutions that are not causal and mirror rows at both
// ends of a stream, an LSTM over the frames, snakes with one parameter per layer, residual units
// with a linear shortcut. It receives latent frames, and returns samples as soon as they are final.
// Every frame is computed once. A stream has the same bits for any division into calls, and does
// not depend on the other streams of a call. Const after construction, shared by threads; a stream
// is used by one call at a time. Network: espnet:espnet2/gan_codec/shared/decoder/seanet.py. T
// frames, D latent width.
#pragma once

#include <vector>

#include "codec/seanet_layers.h"

namespace syrinx {

class SeanetDecoder {
 public:
  SeanetDecoder(const SeanetConfig& config, const Weights& weights, WeightType type);

  const SeanetConfig& config() const { return config_; }
  /// Returns the state of a new stream, on the device of the weights.
  seanet::Stream open() const;
  /// Decodes the latent frames [T, D] of each part, in order. Returns the samples [N, 1] that are
  /// now final, in the arena.
  RowStack run(StepContext& ctx, const RowStack& latent, std::span<const seanet::Part> parts) const;
  /// Moves the weights to a GPU. Streams opened afterwards, and the rows, must then be on the GPU.
  void move_to(Device device);
  /// Returns the device of the weights.
  Device device() const { return head_.device(); }
  size_t bytes() const;

 private:
  struct Block {
    seanet::Snake act;
    CausalConvTranspose1d up;
    std::vector<seanet::Unit> units;
  };

  SeanetConfig config_;
  MirroredConv1d head_, tail_;
  std::vector<Lstm> lstm_;
  std::vector<Block> blocks_;
  seanet::Snake tail_act_;
};

}  // namespace syrinx
