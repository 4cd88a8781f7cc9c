#include "nn/llama_config.h"

namespace syrinx {
namespace {

RopeScaling load_rope_scaling(const Config& config) {
  RopeScaling scaling;
  const auto rope = config.opt_sub("rope_scaling");
  if (!rope) return scaling;
  const std::string type = rope->opt_s("rope_type", rope->opt_s("type", "default"));
  if (type == "default") return scaling;
  if (type != "llama3") config.fail("rope_scaling", "type " + type + " is not supported");
  scaling.factor = static_cast<float>(rope->f("factor", 1, 1e6));
  scaling.low_freq_factor = static_cast<float>(rope->f("low_freq_factor", 1e-9, 1e9));
  scaling.high_freq_factor = static_cast<float>(rope->f("high_freq_factor", 1e-9, 1e9));
  scaling.original_positions =
      static_cast<float>(rope->f("original_max_position_embeddings", 1, 1e9));
  if (scaling.high_freq_factor <= scaling.low_freq_factor) {
    rope->fail("high_freq_factor", "must be larger than low_freq_factor");
  }
  return scaling;
}

}  // namespace

DecoderConfig load_llama_config(const Config& config) {
  DecoderConfig d;
  const auto size = [&](const char* key, int64_t most) {
    return static_cast<int>(config.i(key, 1, most));
  };
  d.hidden = size("hidden_size", 1 << 16);
  d.ffn = size("intermediate_size", 1 << 18);
  d.layers = size("num_hidden_layers", 512);
  d.heads = size("num_attention_heads", 512);
  d.kv_heads = static_cast<int>(config.opt_i("num_key_value_heads", d.heads, 1, 512));
  d.head_dim = static_cast<int>(config.opt_i("head_dim", d.hidden / d.heads, 2, 256));
  d.norm_eps = static_cast<float>(config.f("rms_norm_eps", 0, 1));
  d.rope.theta = config.f("rope_theta", 1);
  d.rope.scaling = load_rope_scaling(config);
  d.attention_bias = d.output_bias = config.opt_b("attention_bias", false);
  d.mlp_bias = config.opt_b("mlp_bias", false);
  if (d.heads % d.kv_heads != 0) config.fail("num_key_value_heads", "must divide the heads");
  if (d.head_dim % 8 != 0) config.fail("head_dim", "must be a multiple of 8");
  if (config.opt_s("hidden_act", "silu") != "silu") config.fail("hidden_act", "must be silu");
  return d;
}

}  // namespace syrinx
