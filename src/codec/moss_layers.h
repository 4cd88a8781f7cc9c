// Layers of MOSS-Audio-Tokenizer that encoder and decoder share. For codec/moss*.cc.
#pragma once

#include "codec/moss_codec.h"

namespace syrinx::moss {

/// The order of channels around a patch that joins `factor` rows of `channels` channels to one row,
/// or divides it. In memory the rows follow one another. In the checkpoint, channel c of row j is
/// channel c * factor + j of the joined row.
struct PatchOrder {
  int64_t channels = 1, factor = 1;
};

/// Loads a block. `cut`: the preceding patch divides rows, so an input row holds order.factor rows
/// side by side. The first linear then also writes order.factor rows side by side. Otherwise the
/// patch joins rows, and this linear reads joined rows. No rows are copied in either case.
MossBlockNet load_block(const MossBlock& block, const Weights& side, PatchOrder order, bool cut,
                        WeightType type, int most_frames);

/// The weight [out, in] and the bias [out] of a convolution of one tap with weight norm.
struct Pointwise {
  Tensor weight, bias;
};
Pointwise load_pointwise(const Weights& scope, int64_t in, int64_t out);
/// Returns "input_proj" (latents to residuals) or "output_proj" (residuals to latents). If both
/// have the same width, the checkpoint lacks it, and the result is the identity.
Pointwise load_residuals(const MossCodecConfig& config, const Weights& quantizer,
                         const std::string& name);

/// Runs a block and the patch before it; x has the rows that the patch joins or divides. `frames`:
/// the sum of the frames of all parts. Returns [frames * rate, out].
View run_block(StepContext& ctx, const MossBlockNet& block, const View& x, int64_t frames,
               std::span<const StreamRows> rows);

}  // namespace syrinx::moss
