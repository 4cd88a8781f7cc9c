// ESPnet's codecs of the SEANet kind from a recording to codes: SeanetEncoder, then residual
// quantizers. The work is divided into pieces of some tens of milliseconds. CPU only, in f32,
// because fewer bits would select other codes. Const after construction, shared by threads.
// Source: espnet:espnet2/gan_codec/dac/dac.py, shared/quantizer/modules/core_vq.py.
// Q codebooks, T frames.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/pieces.h"
#include "codec/espnet_codec.h"
#include "codec/residual_quantizer.h"
#include "codec/seanet_encoder.h"

namespace syrinx {

class EspnetEncoder {
 public:
  /// `generator` is the scope that contains "quantizer." and "encoder.". Tensors that only decoding
  /// or training uses are not read. `config` is the config of the decoder.
  EspnetEncoder(const EspnetCodecConfig& config, const Weights& generator);

  int64_t frames(int64_t samples) const { return encoder_.frames(samples); }
  /// Estimates the number of pieces for a recording of `samples` samples.
  int64_t pieces(int64_t samples) const;
  /// Encodes `samples`, at least one, to codes i32 [T, Q], by the returned pieces. A piece uses the
  /// context in `ctx` when it runs. Samples, codes, `ctx` and this object must outlive the pieces.
  Pieces run(StepContext* const& ctx, std::span<const float> samples, Tensor& codes) const;
  size_t bytes() const { return encoder_.bytes() + quantizer_.bytes(); }

 private:
  EspnetCodecConfig config_;
  SeanetEncoder encoder_;
  ResidualQuantizer quantizer_;
};

}  // namespace syrinx
