#include "nn/llama_config.h"

namespace syrinx {
namespace {

constexpr int64_t kMostHeadDim = 256;

/// Returns rope_type, or `type` of older files; "default" if both are missing.
std::string rope_type(const Config& rope) {
  return rope.opt_s("rope_type", rope.opt_s("type", "default"));
}

RopeScaling load_rope_scaling(const Config& rope) {
  RopeScaling scaling;
  const std::string type = rope_type(rope);
  if (type == "default") return scaling;
  if (type == "linear" && rope.opt_f("factor", 1) == 1) return scaling;
  rope.check("rope_type", type == "llama3", type + " is not supported");
  scaling.factor = rope.f<float>("factor", 1, 1e6);
  scaling.low_freq_factor = rope.f<float>("low_freq_factor", 1e-9, 1e9);
  scaling.high_freq_factor = rope.f<float>("high_freq_factor", 1e-9, 1e9);
  scaling.original_positions = rope.f<float>("original_max_position_embeddings", 1, 1e9);
  rope.check("high_freq_factor", scaling.high_freq_factor > scaling.low_freq_factor,
             "must be larger than low_freq_factor");
  return scaling;
}

}  // namespace

RopeSpec load_rope(const Config& config, double absent_theta) {
  RopeSpec spec;
  const auto all = config.opt_sub("rope_parameters");
  const Config& base = all && all->has("rope_theta") ? *all : config;
  spec.theta =
      absent_theta > 0 ? base.opt_f("rope_theta", absent_theta, 1) : base.f("rope_theta", 1);
  const auto scaling = all ? all : config.opt_sub("rope_scaling");
  if (scaling) spec.scaling = load_rope_scaling(*scaling);
  return spec;
}

double load_rope_theta(const Config& config, double absent_theta) {
  for (const char* key : {"rope_parameters", "rope_scaling"}) {
    const auto rope = config.opt_sub(key);
    if (rope && load_rope_scaling(*rope).factor != 0) {
      rope->fail("rope_type", rope_type(*rope) + " is not supported");
    }
  }
  return load_rope(config, absent_theta).theta;
}

int load_head_dim(const Config& config, int64_t width, int64_t heads) {
  const int64_t dim = config.opt_i("head_dim", width / heads, 2, kMostHeadDim);
  config.check("num_attention_heads", dim >= 2 && dim <= kMostHeadDim,
               std::to_string(heads) + " heads of size " + std::to_string(dim) +
                   ": expected a size of 2 to " + std::to_string(kMostHeadDim));
  config.check("head_dim", dim % 8 == 0, "must be a multiple of 8");
  return static_cast<int>(dim);
}

int head_size(const Config& config, const std::string& key, int64_t width, int64_t heads) {
  const int64_t size = width / heads;
  config.only(key, width % heads == 0 && size % 8 == 0 && size <= kMostHeadDim,
              concat("a divisor of the width into heads of a multiple of 8 numbers, at most ",
                     kMostHeadDim, ","));
  return static_cast<int>(size);
}

DecoderConfig load_llama_sizes(const Config& config, int absent_head_dim) {
  DecoderConfig d;
  const auto size = [&](const char* key, int64_t most) { return config.i<int>(key, 1, most); };
  d.hidden = size("hidden_size", 1 << 16);
  d.ffn = size("intermediate_size", 1 << 18);
  d.layers = size("num_hidden_layers", 512);
  d.heads = size("num_attention_heads", 512);
  d.kv_heads = config.opt_i<int>("num_key_value_heads", d.heads, 1, 512);
  const int64_t width = absent_head_dim > 0 ? int64_t{absent_head_dim} * d.heads : d.hidden;
  d.head_dim = load_head_dim(config, width, d.heads);
  d.norm_eps = config.f<float>("rms_norm_eps", 0, 1);
  d.attention_bias = d.output_bias = config.opt_b("attention_bias", false);
  d.mlp_bias = config.opt_b("mlp_bias", false);
  config.check("num_key_value_heads", d.heads % d.kv_heads == 0, "must divide the heads");
  return d;
}

DecoderConfig load_llama_config(const Config& config, double absent_theta) {
  DecoderConfig d = load_llama_sizes(config);
  d.rope = load_rope(config, absent_theta);
  config.only("hidden_act", "silu");
  config.only("use_sliding_window", false);
  return d;
}

}  // namespace syrinx
