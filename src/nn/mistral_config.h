// Reads the sizes of a transformer in the authors' own files of Mistral's models (params.json), and
// knows the names of its tensors (consolidated.safetensors). Throws LoadError for values that are
// missing, contradictory or unsupported. Source: vllm:vllm/transformers_utils/configs/mistral.py.
#pragma once

#include "io/json.h"
#include "nn/decoder.h"

namespace syrinx {

/// Reads dim, hidden_dim, n_layers, n_heads, n_kv_heads, head_dim, norm_eps (default
/// `absent_eps`) and use_biases, which must be `biases`. The config has the names of the tensors:
/// layers.N.{attention_norm, attention.{wq,wk,wv,wo,q_norm,k_norm}, ffn_norm,
/// feed_forward.{w1,w2,w3}, attention_scale, ffn_scale} and norm. It has no rotary positions; the
/// caller sets which linears have a bias.
DecoderConfig load_mistral_sizes(const Config& config, float absent_eps = 1e-5f,
                                 bool biases = false);

/// Does the same for a language model: with rotary positions of adjacent pairs, of base rope_theta,
/// and sliding_window (0 if absent). Refuses yarn, llama_4_scaling, moe, and causal if false.
DecoderConfig load_mistral_lm(const Config& config, bool biases = false);

}  // namespace syrinx
