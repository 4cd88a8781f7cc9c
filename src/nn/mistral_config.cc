#include "nn/mistral_config.h"

#include "base/check.h"

namespace syrinx {
namespace {

constexpr int64_t kMostWidth = 1 << 16, kMostMistralLayers = 512, kMostMistralHeads = 1024;

}  // namespace

DecoderConfig load_mistral_sizes(const Config& c, float absent_eps, bool biases) {
  DecoderConfig d;
  d.hidden = c.i<int>("dim", 8, kMostWidth);
  d.ffn = c.i<int>("hidden_dim", 1, 4 * kMostWidth);
  d.layers = c.opt_i<int>("n_layers", 1, 1, kMostMistralLayers);
  d.heads = c.i<int>("n_heads", 1, kMostMistralHeads);
  d.kv_heads = c.opt_i<int>("n_kv_heads", d.heads, 1, d.heads);
  c.check("n_kv_heads", d.heads % d.kv_heads == 0,
          concat("n_heads, ", d.heads, ", must be a multiple of it, got ", d.kv_heads));
  d.head_dim = c.opt_i<int>("head_dim", d.hidden / d.heads, 0, 256);
  c.check("head_dim", d.head_dim >= 8 && d.head_dim <= 256 && d.head_dim % 8 == 0,
          concat("expected a multiple of 8 up to 256, got ", d.head_dim));
  d.norm_eps = c.opt_f<float>("norm_eps", absent_eps, 0, 1);
  c.only("use_biases", biases);
  d.rotary = false;
  d.names = {.attention_norm = "attention_norm",
             .q = "attention.wq",
             .k = "attention.wk",
             .v = "attention.wv",
             .o = "attention.wo",
             .mlp_norm = "ffn_norm",
             .gate = "feed_forward.w1",
             .up = "feed_forward.w3",
             .down = "feed_forward.w2",
             .q_norm = "attention.q_norm",
             .k_norm = "attention.k_norm",
             .attention_scale = "attention_scale",
             .mlp_scale = "ffn_scale"};
  return d;
}

DecoderConfig load_mistral_lm(const Config& c, bool biases) {
  for (const char* key : {"yarn", "llama_4_scaling", "moe"})
    c.check(key, !c.has(key), "is not supported");
  c.only("causal", true);
  DecoderConfig d = load_mistral_sizes(c, 1e-5f, biases);
  d.window = c.opt_i<int>("sliding_window", 0, 0, kMostWidth);
  d.rotary = true;
  d.rope.theta = c.f("rope_theta", 1, 1e12);
  d.rope.layout = RopeLayout::kInterleaved;
  return d;
}

}  // namespace syrinx
