// The encoder of ESPnet's SEANet codecs, with the layers of the decoder in reverse order. It
// receives samples, and returns latent frames as soon as they are final. A recording has the same
// bits for any division into calls. CPU only, in f32, because fewer bits would select other codes.
// Const after construction, shared by threads; a stream is used by one call at a time. Network:
// espnet:espnet2/gan_codec/shared/encoder/seanet.py. T samples, D latent width.
#pragma once

#include <vector>

#include "codec/seanet_layers.h"

namespace syrinx {

class SeanetEncoder {
 public:
  /// `config` is the config of the decoder.
  SeanetEncoder(const SeanetConfig& config, const Weights& weights);

  /// Returns the number of frames: samples / hop, rounded up.
  int64_t frames(int64_t samples) const;
  seanet::Stream open() const;
  /// Encodes x [T, 1]. `last`: no samples follow. The last call must have at
  /// least two frames of samples, or all samples of the recording. Returns the frames [N, D] that
  /// are now final, in the arena.
  View run(StepContext& ctx, const View& x, bool last, seanet::Stream& stream) const;
  size_t bytes() const;

 private:
  struct Block {
    std::vector<seanet::Unit> units;
    seanet::Snake act;
    MirroredConv1d down;
  };

  SeanetConfig config_;
  MirroredConv1d head_, tail_;
  std::vector<Block> blocks_;
  std::vector<Lstm> lstm_;
  seanet::Snake tail_act_;
};

}  // namespace syrinx
