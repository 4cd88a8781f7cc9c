// The part of a config.json that describes a stack of llama-type blocks, as transformers writes it
// for Llama, Qwen2, Qwen3 and the models made of such blocks. Throws LoadError for what is missing,
// contradictory or not supported.
#pragma once

#include "io/json.h"
#include "nn/decoder.h"

namespace syrinx {

/// hidden_size, intermediate_size, num_{hidden_layers,attention_heads,key_value_heads}, head_dim,
/// rms_norm_eps, attention_bias and mlp_bias alone: positions, activation and windows are left to
/// the caller. `absent_head_dim` is head_dim where the config has none; 0: hidden_size / heads.
DecoderConfig load_llama_sizes(const Config& config, int absent_head_dim = 0);

/// hidden_size, intermediate_size, num_{hidden_layers,attention_heads,key_value_heads}, head_dim,
/// rms_norm_eps, rotary positions (`absent_theta` as below), attention_bias, mlp_bias.
DecoderConfig load_llama_config(const Config& config, double absent_theta = 0);

/// Base and scaling (default or llama3) of rotary positions: rope_theta and rope_scaling, or
/// rope_parameters with all of them, as transformers writes since version 5. A missing base is
/// `absent_theta`, or a fault where that is 0.
RopeSpec load_rope(const Config& config, double absent_theta = 0);
/// The same for networks without scaling.
double load_rope_theta(const Config& config, double absent_theta = 0);

/// Returns head_dim, or `width` / `heads` where it is missing; must be 2 to 256 and a multiple of
/// 8.
int load_head_dim(const Config& config, int64_t width, int64_t heads);

}  // namespace syrinx
