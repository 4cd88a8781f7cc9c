// Layers of MOSS-Audio-Tokenizer that the encoder and the decoder load alike. For codec/moss*.cc.
#pragma once

#include "codec/moss_codec.h"

namespace syrinx::moss {

/// The order of channels where a patch of `factor` joins or cuts rows: number of a channel behind
/// `factor` rows that lie one after another, and back. Channel c of row j of `channels` each is
/// channel c * factor + j in the checkpoint.
struct PatchOrder {
  int64_t channels = 1, factor = 1;
};

/// Loads block `index` of a side. `cut`: the patch before it cuts each row, so the input has
/// order.factor rows side by side, and the block's linear makes as many rows side by side; else it
/// joins them, and the linear reads them. Rows are regrouped without a copy in both cases.
MossBlockNet load_block(const MossBlock& block, const Weights& side, PatchOrder order, bool cut,
                        WeightType type, int most_frames);

/// Returns the weight [out, in] and the bias [out] of a convolution of one tap in weight norm.
struct Pointwise {
  Tensor weight, bias;
};
Pointwise load_pointwise(const Weights& scope, int64_t in, int64_t out);
/// Returns "input_proj" from latents to residuals or "output_proj" back; where their widths are
/// equal the checkpoint has none, and it is the identity.
Pointwise load_residuals(const MossCodecConfig& config, const Weights& quantizer,
                         const std::string& name);

/// Runs a block over x, rows that the patch before it has not yet regrouped; `frames` of all parts.
/// Returns [frames * rate, out].
View run_block(StepContext& ctx, const MossBlockNet& block, const View& x, int64_t frames,
               std::span<const StreamRows> rows);

}  // namespace syrinx::moss
