// Reads the part of a config.json that describes a stack of llama-type blocks, in transformers'
// format for Llama, Qwen2, Qwen3 and related models. Throws LoadError for values that are missing,
// contradictory or unsupported.
#pragma once

#include "io/json.h"
#include "nn/decoder.h"

namespace syrinx {

/// Reads only hidden_size, intermediate_size, num_{hidden_layers,attention_heads,key_value_heads},
/// head_dim, rms_norm_eps, attention_bias and mlp_bias. The caller sets positions, activation and
/// windows. `absent_head_dim` replaces a missing head_dim; 0 means hidden_size / heads.
DecoderConfig load_llama_sizes(const Config& config, int absent_head_dim = 0);

/// Reads hidden_size, intermediate_size, num_{hidden_layers,attention_heads,key_value_heads},
/// head_dim, rms_norm_eps, rotary positions (`absent_theta` as in load_rope()), attention_bias and
/// mlp_bias.
DecoderConfig load_llama_config(const Config& config, double absent_theta = 0);

/// Reads base and scaling (default or llama3) of rotary positions: rope_theta and rope_scaling, or
/// rope_parameters with both, as in transformers since version 5. `absent_theta` replaces a missing
/// base; if it is 0, a missing base is an error.
RopeSpec load_rope(const Config& config, double absent_theta = 0);
/// Reads only the base of rotary positions, for networks without scaling.
double load_rope_theta(const Config& config, double absent_theta = 0);

/// Returns head_dim, or `width` / `heads` if the config lacks it. The result must be 2 to 256 and a
/// multiple of 8.
int load_head_dim(const Config& config, int64_t width, int64_t heads);
/// Returns `width` / `heads`, the value of `key`. The heads must divide the width into a multiple
/// of 8 numbers, at most 256.
int head_size(const Config& config, const std::string& key, int64_t width, int64_t heads);

}  // namespace syrinx
