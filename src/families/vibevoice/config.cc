#include "families/vibevoice/config.h"

#include "families/loading/checkpoint.h"
#include "nn/llama_config.h"

namespace syrinx::vibevoice {
namespace {

constexpr const char* kRealtime = "vibevoice_streaming";

void load_head(const Config& head, ModelConfig& c) {
  const int64_t width = head.i("hidden_size", 1, 1 << 16);
  head.check("hidden_size", width == c.hidden(),
             concat("expected decoder_config's ", c.hidden(), ", got ", width));
  head.same("latent_size", c.latent(), "vae_dim");
  c.head_layers = head.i("head_layers", 1, 256);
  c.head_ffn =
      static_cast<int64_t>(static_cast<double>(width) * head.opt_f("head_ffn_ratio", 3, 0.01, 64));
  head.check("head_ffn_ratio", c.head_ffn >= 1, "is too small");
  c.head_eps = head.opt_f<float>("rms_norm_eps", c.head_eps, 0, 1);
  c.times = head.opt_i("ddpm_num_steps", c.times, 2 * ModelConfig::kSolverSteps, 1 << 20);
  const std::string kind = head.opt_s("prediction_type", "v_prediction");
  head.check("prediction_type", kind == "v_prediction", "expected v_prediction, got " + kind);
  const std::string schedule = head.opt_s("ddpm_beta_schedule", "cosine");
  head.check("ddpm_beta_schedule", schedule == "cosine" || schedule == "squaredcos_cap_v2",
             "expected cosine, got " + schedule);
  head.only("diffusion_type", "ddpm");
}

}  // namespace

bool claims(const Config& root) {
  const std::string type = model_type(root);
  return type == kRealtime || type == "vibevoice" || type == "vibevoice_asr";
}

ModelConfig load_model_config(const Config& root) {
  if (const std::string type = model_type(root); type != kRealtime) {
    root.fail("model_type", "expected " + std::string(kRealtime) + " (VibeVoice-Realtime), got " +
                                type +
                                ": VibeVoice's models for long speech (1.5B, 7B) and for "
                                "recognition are not supported");
  }
  const Config lm = root.sub("decoder_config");
  lm.only("model_type", "qwen2");
  ModelConfig c;
  c.text = load_llama_config(lm);
  c.text.attention_bias = true, c.text.output_bias = false;
  c.vocab = lm.i("vocab_size", 1, 1 << 24);
  c.max_positions = lm.i("max_position_embeddings", 64, 1 << 20);
  c.text.rope_positions = c.max_positions;
  c.speech = c.text;
  const char* upper = "tts_backbone_num_hidden_layers";
  c.speech.layers = root.opt_i<int>(upper, 20, 1, 512);
  c.text.layers -= c.speech.layers;
  root.check(upper, c.text.layers >= 1,
             concat("expected fewer than the decoder's ", c.text.layers + c.speech.layers,
                    " layers, got ", c.speech.layers));
  c.text.final_norm = false;
  c.vae = SigmaVaeConfig::load(root.sub("acoustic_tokenizer_config"));
  load_head(root.sub("diffusion_head_config"), c);
  // Only its width distinguishes a row of a voice from a latent, so the widths must differ.
  if (c.latent() >= c.cache_row()) {
    root.sub("acoustic_tokenizer_config")
        .fail("vae_dim", concat("expected fewer than the ", c.cache_row(),
                                " numbers of a position's keys and values"));
  }
  if (c.vae.hop() < ModelConfig::kSampleRate / 200 || c.vae.hop() > ModelConfig::kSampleRate) {
    root.sub("acoustic_tokenizer_config")
        .fail("decoder_ratios",
              concat("a frame of ", c.vae.hop(), " samples: expected 5 ms to a second at 24 kHz"));
  }
  return c;
}

}  // namespace syrinx::vibevoice
