#include "families/voxcpm2/config.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/check.h"

namespace syrinx::voxcpm2 {
namespace {

constexpr int64_t kMostWidth = 1 << 16;

/// Reads RoPE in the form of MiniCPM4, with a factor for each pair. A model that was trained for
/// long texts uses the factors for long texts (VoxCPM:src/voxcpm/modules/minicpm4/model.py).
RopeSpec load_angles(const Config& lm) {
  const Config scaling = lm.sub("rope_scaling");
  RopeSpec rope;
  rope.theta = lm.f("rope_theta", 1, 1e12);
  scaling.check("type", scaling.s("type") == "longrope",
                "expected longrope, got " + scaling.s("type"));
  const auto positions = static_cast<double>(lm.i("max_position_embeddings", 1, 1 << 30));
  const auto original =
      static_cast<double>(scaling.i("original_max_position_embeddings", 2, 1 << 30));
  const char* list = positions > original ? "long_factor" : "short_factor";
  for (const double factor : scaling.floats(list)) {
    scaling.check(list, factor > 1e-6 && factor < 1e6,
                  concat("expected factors from 1e-6 to 1e6, got ", factor));
    rope.factors.push_back(static_cast<float>(factor));
  }
  const double gain = 1 + std::log(positions / original) / std::log(original);
  lm.check("max_position_embeddings", gain > 0, "is too small for rope_scaling");
  rope.gain = static_cast<float>(std::sqrt(gain));
  return rope;
}

/// Reads the settings that all four networks share, and the sizes of the language model.
DecoderConfig load_lm(const Config& c) {
  DecoderConfig d;
  d.layers = c.i<int>("num_hidden_layers", 1, 512);
  d.hidden = c.i<int>("hidden_size", 1, kMostWidth);
  d.heads = c.i<int>("num_attention_heads", 1, 512);
  d.kv_heads = c.i<int>("num_key_value_heads", 1, 512);
  d.ffn = c.i<int>("intermediate_size", 1, kMostWidth);
  d.head_dim = c.opt_i<int>("kv_channels", d.hidden / d.heads, 0, 256);
  d.norm_eps = c.f<float>("rms_norm_eps", 0, 1);
  d.rotary = !c.opt_b("no_rope", false);
  d.rope = load_angles(c);
  c.check("use_mup", !c.opt_b("use_mup", true), "must be false");
  return d;
}

/// Reads the sizes of a local network.
DecoderConfig load_local(const Config& c, const DecoderConfig& lm) {
  DecoderConfig d = lm;
  d.layers = c.opt_i<int>("num_layers", 4, 1, 512);
  d.hidden = c.opt_i<int>("hidden_dim", 1024, 4, kMostWidth);
  d.heads = c.opt_i<int>("num_heads", 16, 1, 512);
  d.ffn = c.opt_i<int>("ffn_dim", 4096, 1, kMostWidth);
  d.head_dim = c.opt_i<int>("kv_channels", d.hidden / d.heads, 0, 256);
  d.causal = false;
  d.rope_positions = 64;  // positions for a patch and its conditions
  return d;
}

void check_heads_of(const Config& c, const DecoderConfig& d) {
  c.check("kv_channels", d.head_dim >= 8 && d.head_dim % 8 == 0,
          concat("heads of ", d.head_dim, ": expected a multiple of 8"));
  c.check("num_heads", d.heads % d.kv_heads == 0,
          concat(d.heads, " heads: expected a multiple of the ", d.kv_heads, " key heads"));
  c.check("kv_channels", !d.rotary || std::ssize(d.rope.factors) == d.head_dim / 2,
          concat("heads of ", d.head_dim, " need ", d.head_dim / 2,
                 " factors, but rope_scaling has ", d.rope.factors.size()));
}

}  // namespace

bool claims(const Config& root) {
  const auto found = root.raw().find("architecture");
  if (found == root.raw().end() || !found->is_string()) return false;
  std::string name = *found;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name == "voxcpm2";
}

ModelConfig load_model_config(const Config& root) {
  const Config lm = root.sub("lm_config"), encoder = root.sub("encoder_config"),
               dit = root.sub("dit_config");
  ModelConfig m;
  m.base = load_lm(lm);
  m.residual = m.base;
  m.residual.layers = root.opt_i<int>("residual_lm_num_layers", 8, 1, 512);
  m.residual.rotary = !root.opt_b("residual_lm_no_rope", false);
  m.encoder = load_local(encoder, m.base);
  m.dit = load_local(dit, m.base);
  check_heads_of(lm, m.base);
  check_heads_of(encoder, m.encoder);
  check_heads_of(dit, m.dit);
  dit.check("hidden_dim", m.dit.hidden % 2 == 0, "must be even");
  dit.only("dit_mean_mode", false);
  if (const auto cfm = dit.opt_sub("cfm_config"); cfm && cfm->opt_s("solver", "euler") != "euler") {
    cfm->fail("solver", cfm->s("solver") + " is not supported; only euler is");
  }
  m.vocab = lm.i("vocab_size", 105, 1 << 24);  // ids up to 104 are marks of audio
  m.max_positions = root.opt_i("max_length", 8192, 64, 1 << 20);
  m.base.rope_positions = m.residual.rope_positions = m.max_positions;
  m.patch = root.opt_i("patch_size", 4, 1, 16);
  m.fsq_width = root.opt_i("scalar_quantization_latent_dim", 512, 1, kMostWidth);
  m.fsq_scale = root.opt_i("scalar_quantization_scale", 9, 1, 1 << 16);
  const auto vae = root.opt_sub("audio_vae_config");
  if (vae) m.vae = AudioVaeConfig::load(*vae);
  root.check("feat_dim", root.opt_i("feat_dim", 64) == m.vae.latent,
             concat("must equal audio_vae_config.latent_dim, ", m.vae.latent));
  return m;
}

}  // namespace syrinx::voxcpm2
