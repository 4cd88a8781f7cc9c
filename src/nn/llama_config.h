// The part of a config.json that describes a stack of llama-type blocks, as transformers writes it
// for Llama and the models made of its blocks. Throws LoadError for what is missing, contradictory
// or not supported.
#pragma once

#include "io/json.h"
#include "nn/decoder.h"

namespace syrinx {

/// hidden_size, intermediate_size, num_{hidden_layers,attention_heads,key_value_heads}, head_dim,
/// rms_norm_eps, rope_theta, rope_scaling (default or llama3), attention_bias, mlp_bias.
DecoderConfig load_llama_config(const Config& config);

}  // namespace syrinx
