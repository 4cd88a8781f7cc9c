// Reads the sizes of a transformer in the authors' own files of Mistral's models (params.json), and
// knows the names of its tensors (consolidated.safetensors). Throws LoadError for values that are
// missing, contradictory or unsupported. Source: vllm:vllm/transformers_utils/configs/mistral.py.
#pragma once

#include "io/json.h"
#include "nn/decoder.h"

namespace syrinx {

/// Reads dim, hidden_dim, n_layers, n_heads, n_kv_heads, head_dim, norm_eps (default
/// `absent_eps`) and use_biases, which must be false. The config has the names of the tensors:
/// layers.N.{attention_norm, attention.{wq,wk,wv,wo,q_norm,k_norm}, ffn_norm,
/// feed_forward.{w1,w2,w3}, attention_scale, ffn_scale} and norm. It has no rotary positions.
DecoderConfig load_mistral_sizes(const Config& config, float absent_eps = 1e-5f);

/// Does the same for a language model: with rotary positions of adjacent pairs, of base rope_theta.
/// Refuses yarn, llama_4_scaling, sliding_window, moe, and causal if false.
DecoderConfig load_mistral_lm(const Config& config);

}  // namespace syrinx
