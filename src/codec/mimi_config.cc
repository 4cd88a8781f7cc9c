#include "codec/mimi_config.h"

#include <string>

#include "base/check.h"
#include "nn/llama_config.h"

namespace syrinx {

int64_t MimiConfig::dilation() const {
  int64_t dilation = 1;
  for (int64_t i = 1; i < residual_layers; ++i) dilation *= dilation_growth;
  return dilation;
}

int64_t MimiConfig::hop() const {
  int64_t samples = latent_rate;
  for (const int64_t ratio : ratios) samples *= ratio;
  return samples;
}

DecoderConfig MimiConfig::transformer() const {
  DecoderConfig d;
  d.layers = static_cast<int>(layers);
  d.hidden = static_cast<int>(hidden);
  d.heads = static_cast<int>(heads);
  d.kv_heads = static_cast<int>(kv_heads);
  d.head_dim = static_cast<int>(head_dim);
  d.ffn = static_cast<int>(ffn);
  d.norm_eps = norm_eps;
  d.rope.theta = rope_theta;
  d.attention_bias = d.output_bias = attention_bias;
  d.layer_scale = true;
  d.window = static_cast<int>(window);
  d.norm = NormKind::kLayer;
  d.mlp = gelu_tanh ? MlpKind::kGeluTanh : MlpKind::kGelu;
  d.rope.layout = interleaved ? RopeLayout::kInterleaved : RopeLayout::kHalfSplit;
  d.names = names.blocks;
  d.final_norm = false;
  return d;
}

MimiConfig MimiConfig::load(const Config& config) {
  const std::string kind = config.opt_s("model_type", "mimi");
  config.check("model_type", kind == "mimi", "expected mimi, got " + kind);
  MimiConfig c;
  const auto size = [&](const char* key, int64_t& value, int64_t min, int64_t max) {
    value = config.opt_i(key, value, min, max);
  };
  size("sampling_rate", c.sample_rate, 1000, 192000);
  size("num_quantizers", c.codebooks, 2, 64);
  size("num_semantic_quantizers", c.semantic, 1, c.codebooks - 1);
  size("codebook_size", c.codebook_size, 1, 1 << 20);
  size("codebook_dim", c.codebook_dim, 1, 1 << 14);
  size("hidden_size", c.hidden, 1, 1 << 14);
  c.encoded = c.hidden;
  size("num_filters", c.filters, 1, 1 << 12);
  size("num_residual_layers", c.residual_layers, 0, 16);
  size("dilation_growth_rate", c.dilation_growth, 1, 8);
  size("compress", c.compress, 1, 64);
  size("kernel_size", c.taps, 1, 64);
  size("last_kernel_size", c.last_taps, 1, 64);
  size("residual_kernel_size", c.residual_taps, 1, 64);
  size("num_hidden_layers", c.layers, 1, 256);
  size("num_attention_heads", c.heads, 1, 256);
  size("num_key_value_heads", c.kv_heads, 1, 256);
  c.head_dim = load_head_dim(config, c.hidden, c.heads);
  size("intermediate_size", c.ffn, 1, 1 << 16);
  size("sliding_window", c.window, 1, 4096);
  c.norm_eps = config.opt_f<float>("norm_eps", c.norm_eps, 0, 1);
  c.rope_theta = load_rope_theta(config, c.rope_theta);
  c.attention_bias = config.opt_b("attention_bias", false);
  if (config.has("upsampling_ratios")) c.ratios = config.ints("upsampling_ratios", 1, 64);

  config.only("upsampling_ratios", !c.ratios.empty() && c.ratios.size() <= 8, "a list of 1 to 8");
  config.only("num_key_value_heads", c.heads % c.kv_heads == 0, "a divisor of num_attention_heads");
  config.only(
      "dilation_growth_rate", c.dilation() <= kMostDilation,
      concat("a dilation of at most ", kMostDilation, " (", c.dilation(), " in the last layer)"));
  config.only("compress", c.filters % c.compress == 0, "a divisor of num_filters");
  config.only("audio_channels", 1);
  config.only("use_causal_conv", true);
  config.only("use_conv_shortcut", false);
  config.only("pad_mode", "constant");
  config.only("trim_right_ratio", config.opt_f("trim_right_ratio", 1) == 1, "1");
  config.only("hidden_act", "gelu");
  config.only("upsample_groups", config.opt_i("upsample_groups", c.hidden) == c.hidden,
              "one group a channel");
  config.only(
      "vector_quantization_hidden_dimension",
      config.opt_i("vector_quantization_hidden_dimension", c.codebook_dim) == c.codebook_dim &&
          c.codebook_dim != c.hidden,
      "codebook_dim, which must differ from hidden_size,");
  config.only("upsampling_ratios", c.hop() <= c.sample_rate, "a frame of at most a second");
  return c;
}

}  // namespace syrinx
