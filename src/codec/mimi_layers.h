// Layers of Mimi that encoder and decoder load with the same names. For codec/mimi*.cc.
#pragma once

#include <string>
#include <vector>

#include "codec/mimi.h"

namespace syrinx::mimi {

/// Loads a convolution from "conv.weight" and "conv.bias" of a scope.
CausalConv1d load_conv(const Weights& scope, int64_t in, int64_t out, int64_t taps,
                       const CausalConv1dOptions& options);

/// Loads residual unit `index` of an upsampling or downsampling ratio.
MimiResidualUnit load_unit(const MimiConfig& config, const Weights& scope, int64_t channels,
                           int64_t index, WeightType type);

/// Runs a unit over x in place.
void run_unit(StepContext& ctx, StreamPass& pass, const MimiResidualUnit& unit, const View& x);

/// Loads the centroids [V, D] of codebook q.
Tensor load_codebook(const MimiConfig& config, const Weights& quantizer, int64_t q);

/// Loads a convolution of one tap without bias as a linear. `scope` is the part of the quantizer
/// that has codebook q.
PackedLinear load_projection(const Weights& scope, const std::string& name, int64_t in, int64_t out,
                             WeightType type);

inline constexpr const char* kSemantic = "semantic_residual_vector_quantizer";
inline constexpr const char* kAcoustic = "acoustic_residual_vector_quantizer";

}  // namespace syrinx::mimi
