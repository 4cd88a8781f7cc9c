// How the forward() of a language model of one decoder ends.
#pragma once

#include "model/stage.h"
#include "nn/decoder.h"

namespace syrinx {

/// The decoder's blocks over a batch's rows x [N, H], which they change; the rows that yield a
/// step, normed, into hidden [E, H].
inline void run_decoder(StepContext& ctx, const Decoder& decoder, const ArBatch& batch,
                        const View& x, const View& hidden) {
  decoder.forward(ctx, x, batch.ragged, batch.kv[0]);
  if (batch.emits > 0) decoder.norm_rows(ctx, x, emitting_rows(ctx, batch), hidden);
}

}  // namespace syrinx
