// Checkpoints whose linears others have quantised to 4 bits, as GPTQ (AutoGPTQ, GPTQModel) and AWQ
// (AutoAWQ) publish them: instead of X.weight there are X.qweight, X.qzeros, X.scales and, for
// GPTQ, X.g_idx. Here they are X.weight again. Nothing in the files is trusted.
//
// With 8 numbers of 4 bits in an int32, the first in the lowest bits, and G groups of the inputs:
//   GPTQ  qweight [in / 8, out], words along in; qzeros [G, out / 8], words along out, each one
//   less
//         than the zero is (checkpoint_format gptq) or as it is (gptq_v2); scales [G, out];
//         g_idx [in]: the group of each input, if it is not input / group_size
//   AWQ   qweight [in, out / 8] and qzeros [G, out / 8], words along out, in the order
//         0 2 4 6 1 3 5 7; scales [G, out]
// and weight[o][i] = scale * (number - zero).
#pragma once

#include <memory>

#include "io/json.h"
#include "io/weights.h"

namespace syrinx {

struct QuantizedLayout {
  enum class Method : uint8_t { kGptq, kAwq };
  Method method = Method::kGptq;
  int64_t group = 0;    ///< inputs that share a scale; 0: all of them
  int zero_offset = 0;  ///< to be added to stored zeros
};

/// What a quantization_config says. Throws LoadError naming what is not supported: other methods
/// than gptq and awq, other numbers of bits than 4, groups that are no multiple of 32, layouts made
/// for one vendor's kernels.
QuantizedLayout load_quantized_layout(const Config& config);

/// Weights are f32 and exact. Only the latest four quantised ones are kept: a
/// layer packs what it takes before the next one takes any. Biases of quantised linears that are
/// all zeros are not listed: AutoGPTQ writes some for linears that have none.
std::unique_ptr<WeightSource> dequantized(std::unique_ptr<WeightSource> stored,
                                          const QuantizedLayout& layout);

}  // namespace syrinx
