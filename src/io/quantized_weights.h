// Reads checkpoints whose linears were quantised to 4 bits by GPTQ (AutoGPTQ, GPTQModel) or AWQ
// (AutoAWQ). Such files have X.qweight, X.qzeros, X.scales and, for GPTQ, X.g_idx in place of
// X.weight. Layers see X.weight again. Nothing in the files is trusted.
//
// An int32 word has 8 numbers of 4 bits, the first in the lowest bits. There are G groups of
// inputs, and weight[o][i] = scale * (number - zero).
//   GPTQ  qweight [in / 8, out], where a word has 8 inputs; qzeros [G, out / 8], where a word has
//         8 outputs, each stored as zero - 1 (checkpoint_format gptq) or as zero (gptq_v2);
//         scales [G, out]; g_idx [in]: the group of each input, if it is not input / group_size
//   AWQ   qweight [in, out / 8] and qzeros [G, out / 8], where a word has 8 outputs in the order
//         0 2 4 6 1 3 5 7; scales [G, out]
#pragma once

#include <memory>

#include "io/json.h"
#include "io/weights.h"

namespace syrinx {

struct QuantizedLayout {
  enum class Method : uint8_t { kGptq, kAwq };
  Method method = Method::kGptq;
  int64_t group = 0;    ///< inputs that share a scale; 0 means all inputs
  int zero_offset = 0;  ///< number to add to stored zeros
};

/// Reads a quantization_config. Throws LoadError for other methods than gptq and awq, other bits
/// than 4, and groups that are not a multiple of 32. Also for formats other than gptq, gptq_v2 and
/// (for AWQ) gemm, and for AWQ without zeros.
QuantizedLayout load_quantized_layout(const Config& config);

/// Returns a source of exact f32 weights. Keeps only the latest four quantised weights in memory,
/// so a layer must pack its weights before other layers take theirs. Omits all-zero biases of
/// quantised linears, because AutoGPTQ writes them for linears without bias.
std::unique_ptr<WeightSource> dequantized(std::unique_ptr<WeightSource> stored,
                                          const QuantizedLayout& layout);

}  // namespace syrinx
