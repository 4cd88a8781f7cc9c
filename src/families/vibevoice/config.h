// Settings in config.json of a VibeVoice-Realtime checkpoint. Plain data, checked when read. Throws
// LoadError for values that are missing, contradictory or not supported. Source:
// VibeVoice:vibevoice/modular/configuration_vibevoice{,_streaming}.py.
#pragma once

#include <cstdint>

#include "codec/sigma_vae.h"
#include "io/json.h"
#include "nn/decoder.h"

namespace syrinx::vibevoice {

struct ModelConfig {
  /// Lower and upper layers of one decoder. They differ only in their number.
  DecoderConfig text, speech;
  int64_t vocab = 0, max_positions = 0;
  int64_t head_layers = 0, head_ffn = 0;
  float head_eps = 1e-5f;
  int64_t times = 1000;  ///< steps of the noise schedule in training
  SigmaVaeConfig vae;

  static constexpr int64_t kSampleRate = 24000;  ///< Hz
  /// Solver steps of the authors' demos, which ignore ddpm_num_inference_steps.
  static constexpr int kSolverSteps = 5;

  int64_t latent() const { return vae.latent; }
  int64_t hidden() const { return speech.hidden; }
  int64_t kv_width() const { return int64_t{speech.kv_heads} * speech.head_dim; }
  /// Returns how many numbers the cache has per position: the keys and values of all layers, first
  /// those of the text model, then those of the speech model.
  int64_t cache_row() const { return 2 * (text.layers + speech.layers) * kv_width(); }
};

/// Returns whether a config.json belongs to the family. Accepts also VibeVoice's models for long
/// speech and for recognition; load_model_config() refuses these with an error that names them.
bool claims(const Config& root);
/// Reads and checks config.json. Throws LoadError.
ModelConfig load_model_config(const Config& root);

}  // namespace syrinx::vibevoice
