// ESPnet's codecs of the SEANet kind from a recording to codes: SeanetEncoder, then residual
// quantizers. A recording goes through piece by piece, each of some tens of milliseconds. On the
// CPU, in f32: fewer bits would choose other codes. Const after construction, shared by threads.
// Source: espnet:espnet2/gan_codec/dac/dac.py, shared/quantizer/modules/core_vq.py.
// Q codebooks, T frames.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/pieces.h"
#include "codec/espnet_codec.h"
#include "codec/nearest_entry.h"
#include "codec/seanet_encoder.h"

namespace syrinx {

class EspnetEncoder {
 public:
  /// `generator` is the scope that holds "quantizer." and "encoder."; what only decodes or trains
  /// is left in the file. `config` is that of the decoder.
  EspnetEncoder(const EspnetCodecConfig& config, const Weights& generator);

  int64_t frames(int64_t samples) const { return encoder_.frames(samples); }
  /// Estimates the pieces of a recording of `samples` samples.
  int64_t pieces(int64_t samples) const;
  /// `samples`, not none -> codes i32 [T, Q], in pieces that need the context in `ctx` while they
  /// run. Samples, codes, `ctx` and this outlive the pieces.
  Pieces run(StepContext* const& ctx, std::span<const float> samples, Tensor& codes) const;
  size_t bytes() const;

 private:
  void quantise(StepContext& ctx, const View& latent, std::span<int32_t> codes) const;

  EspnetCodecConfig config_;
  SeanetEncoder encoder_;
  std::vector<NearestEntry> codebooks_;
};

}  // namespace syrinx
