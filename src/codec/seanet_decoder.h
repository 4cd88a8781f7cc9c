// The decoder of a SEANet codec as ESPnet trains it: not causal, convolutions mirrored at both ends
// of a stream, an LSTM over the frames, one snake parameter a layer, residual units beside a
// linear. Latent frames come in, samples go out as soon as they are certain; every frame runs once.
// However a stream is cut, its samples are the same bits as those of the whole. Runs on the CPU.
// Const after construction, shared by threads; a stream is used by one call at a time.
// Network: espnet:espnet2/gan_codec/shared/decoder/seanet.py. T frames, D latent width.
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
    std::vector<RowQueue> beside;  // of the units
  };

  SeanetDecoder(const SeanetConfig& config, const Weights& weights, WeightType type);

  const SeanetConfig& config() const { return config_; }
  Stream open() const;
  /// latent [T, D]; the samples [N] that became certain, in the arena.
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
