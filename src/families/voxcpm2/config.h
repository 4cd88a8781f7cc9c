// Settings in config.json of a VoxCPM2 checkpoint. Plain data, checked when read. Throws LoadError
// for values that are missing, contradictory or not supported.
#pragma once

#include <cstdint>

#include "codec/audio_vae.h"
#include "io/json.h"
#include "nn/decoder.h"

namespace syrinx::voxcpm2 {

struct ModelConfig {
  DecoderConfig base, residual;  ///< language models; width and KV heads of both are equal
  DecoderConfig encoder, dit;    ///< the local networks, which process one patch at a time
  int64_t vocab = 0;
  int64_t max_positions = 0;
  int64_t patch = 4;      ///< P, latent frames in a step
  int64_t fsq_width = 0;  ///< width of the rounded rows between the two language models
  int64_t fsq_scale = 9;  ///< their values are rounded to multiples of 1 / fsq_scale
  AudioVaeConfig vae;

  int64_t latent() const { return vae.latent; }  ///< returns D, the width of a latent frame
  /// Returns the width of a step's patch: its P = `patch` frames have width D.
  int64_t patch_width() const { return patch * vae.latent; }
  int64_t patch_samples() const { return patch * vae.decoder_hop(); }
};

/// Returns whether a config.json belongs to the family.
bool claims(const Config& root);
/// Reads and checks the sizes of all networks. Throws LoadError.
ModelConfig load_model_config(const Config& root);

}  // namespace syrinx::voxcpm2
