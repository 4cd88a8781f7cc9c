#include "nn/mistral_config.h"

#include "base/check.h"

namespace syrinx {
namespace {

constexpr int64_t kMostWidth = 1 << 16, kMostMistralLayers = 512, kMostMistralHeads = 1024;

}  // namespace

DecoderConfig load_mistral_sizes(const Config& c, float absent_eps, bool biases) {
  DecoderConfig d;
  d.hidden = static_cast<int>(c.i("dim", 8, kMostWidth));
  d.ffn = static_cast<int>(c.i("hidden_dim", 1, 4 * kMostWidth));
  d.layers = static_cast<int>(c.opt_i("n_layers", 1, 1, kMostMistralLayers));
  d.heads = static_cast<int>(c.i("n_heads", 1, kMostMistralHeads));
  d.kv_heads = static_cast<int>(c.opt_i("n_kv_heads", d.heads, 1, d.heads));
  if (d.heads % d.kv_heads != 0) {
    c.fail("n_kv_heads",
           concat("n_heads, ", d.heads, ", must be a multiple of it, got ", d.kv_heads));
  }
  d.head_dim = static_cast<int>(c.opt_i("head_dim", d.hidden / d.heads, 0, 256));
  if (d.head_dim < 8 || d.head_dim > 256 || d.head_dim % 8 != 0) {
    c.fail("head_dim", concat("expected a multiple of 8 up to 256, got ", d.head_dim));
  }
  d.norm_eps = static_cast<float>(c.opt_f("norm_eps", absent_eps, 0, 1));
  if (c.opt_b("use_biases", biases) != biases)
    c.fail("use_biases", concat("expected ", biases ? "true" : "false"));
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
    if (c.has(key)) c.fail(key, "is not supported");
  if (!c.opt_b("causal", true)) c.fail("causal", "expected true");
  DecoderConfig d = load_mistral_sizes(c, 1e-5f, biases);
  d.window = static_cast<int>(c.opt_i("sliding_window", 0, 0, kMostWidth));
  d.rotary = true;
  d.rope.theta = c.f("rope_theta", 1, 1e12);
  d.rope.layout = RopeLayout::kInterleaved;
  return d;
}

}  // namespace syrinx
