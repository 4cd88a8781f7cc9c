// VibeVoice's diffusion head with its solver. Makes a latent from noise and a row of
// the speech model by DPM-Solver++ of second order, with classifier-free guidance.
// Const after construction, shared by threads. Latents do not influence each other. Network and
// solver:
// VibeVoice:vibevoice/modular/modular_vibevoice_diffusion_head.py,
// vibevoice/schedule/dpm_solver.py. E: latents. D: width of a latent. H: width.
#pragma once

#include <array>
#include <vector>

#include "families/vibevoice/config.h"

namespace syrinx::vibevoice {

/// The network that denoises latents, with its weights and its solver.
class DiffusionHead {
 public:
  /// Loads the layers. `weights`: the scope "prediction_head.".
  DiffusionHead(const ModelConfig& config, const Weights& weights, WeightType type);
  /// Moves the weights, for operands on the device.
  void move_to(Device device);
  /// Computes E latents from noise, in place in x [E, D]. rows [E, H] of the speech model.
  /// `companions` [E, H]: rows without text, which run in the same batch, for guidance of the
  /// scales [E]; empty: no guidance. A latent whose companion equals its row has no guidance.
  void run(StepContext& ctx, const View& rows, const View& companions, const View& scales,
           const View& x) const;
  size_t bytes() const;

  /// A step of the solver. With v the network's output, latent = of_x x + of_out v. Then x becomes
  /// keep x + now latent + before (latent - previous latent).
  struct SolverStep {
    double time = 0;
    float of_x = 0, of_out = 0;
    float keep = 0, now = 0, before = 0;
  };
  using Solver = std::array<SolverStep, ModelConfig::kSolverSteps>;
  static Solver solver(const ModelConfig& config);

 private:
  struct Layer {
    RmsNorm norm;
    PackedLinear modulation, up, down;  // modulation: H -> 3 H (shift, scale, gate)
  };
  void embed_times(const Weights& weights);
  /// Computes the network's output v [R, D] at solver step `step` for x [R, D]. conditions [R, H]
  /// are the projected conditions.
  void estimate(StepContext& ctx, size_t step, const View& conditions, const View& x,
                const View& v) const;

  ModelConfig config_;
  Solver solver_;
  PackedLinear in_, condition_, last_modulation_, out_;
  std::vector<Layer> layers_;
  Tensor times_;  // [solver steps, H]
  Tensor ones_;   // [H], for the last norm
};

}  // namespace syrinx::vibevoice
