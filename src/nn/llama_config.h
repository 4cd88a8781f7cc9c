// The part of a config.json that describes a stack of llama-type blocks, in transformers' format
// for Llama, Qwen2, Qwen3 and related models. Throws LoadError for values that are missing,
// contradictory or not supported.
#pragma once

#include "io/json.h"
#include "nn/decoder.h"

namespace syrinx {

/// Reads only hidden_size, intermediate_size, num_{hidden_layers,attention_heads,key_value_heads},
/// head_dim, rms_norm_eps, attention_bias and mlp_bias. The caller sets positions, activation and
/// windows. `absent_head_dim` is the head_dim for configs without it; 0: hidden_size / heads.
DecoderConfig load_llama_sizes(const Config& config, int absent_head_dim = 0);

/// Reads hidden_size, intermediate_size, num_{hidden_layers,attention_heads,key_value_heads},
/// head_dim, rms_norm_eps, rotary positions (`absent_theta` as in load_rope()), attention_bias and
/// mlp_bias.
DecoderConfig load_llama_config(const Config& config, double absent_theta = 0);

/// Reads base and scaling (default or llama3) of rotary positions: rope_theta and rope_scaling, or
/// rope_parameters with both, as in transformers since version 5. A missing base is `absent_theta`;
/// if that is 0, it is a fault.
RopeSpec load_rope(const Config& config, double absent_theta = 0);
/// Reads only the base, for networks without scaling.
double load_rope_theta(const Config& config, double absent_theta = 0);

/// Returns head_dim, or `width` / `heads` if it is missing; it must be 2 to 256 and a multiple of
/// 8.
int load_head_dim(const Config& config, int64_t width, int64_t heads);

}  // namespace syrinx
