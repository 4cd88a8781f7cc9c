// The decoder of ESPnet's SEANet codecs: convolutions that are not causal and mirror rows at both
// ends of a stream, an LSTM over the frames, snakes with one parameter per layer, residual units
// with a linear shortcut. It receives latent frames, and returns samples as soon as they are final.
// Every frame is computed once. A stream has the same bits for any division into calls. CPU only.
// Const after construction, shared by threads; a stream is used by one call at a time. Network:
// espnet:espnet2/gan_codec/shared/decoder/seanet.py. T frames, D latent width.
#pragma once

#include <vector>

#include "codec/seanet_layers.h"

namespace syrinx {

class SeanetDecoder {
 public:
  class Stream {
    friend class SeanetDecoder;
    std::vector<MirroredConv1d::State> convs;
    std::vector<ConvState> ups;
    std::vector<LstmState> lstm;
    std::vector<RowQueue> beside;  // delayed input of each residual unit
  };

  SeanetDecoder(const SeanetConfig& config, const Weights& weights, WeightType type);

  const SeanetConfig& config() const { return config_; }
  Stream open() const;
  /// Decodes latent [T, D]. `last`: no frames follow. Returns the samples [N] that are now final,
  /// in the arena.
  View run(StepContext& ctx, const View& latent, bool last, Stream& stream) const;
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
