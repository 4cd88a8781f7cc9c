// The two local networks of VoxCPM2, which process one patch of P latent frames at a time. The
// encoder turns a patch into a row of the language models. The diffusion transformer, with its
// solver, makes a patch from rows of the language models. Both run over many patches at once; a
// patch's values do not depend on the other patches. Const after construction, shared by threads.
// Networks:
// VoxCPM:src/voxcpm/modules/{locenc/local_encoder,locdit/local_dit_v2,locdit/unified_cfm}.py D:
// width of a latent frame. W: width of the network. H: width of the language models. A, E: numbers
// of patches.
#pragma once

#include "families/voxcpm2/config.h"

namespace syrinx::voxcpm2 {

/// Turns a patch of latents into a row of the language models.
class LocalEncoder {
 public:
  /// Loads the layers. `root` contains "feat_encoder." and "enc_to_lm_proj.".
  LocalEncoder(const ModelConfig& config, const Weights& root, WeightType type);
  /// Moves the weights, for operands on the device.
  void move_to(Device device);
  /// Computes patches [A, P * D] -> out [A, H].
  void run(StepContext& ctx, const View& patches, const View& out) const;
  size_t bytes() const { return weight_bytes(in_, decoder_, to_lm_); }

 private:
  ModelConfig config_;
  PackedLinear in_, to_lm_;
  Tensor first_;  // [W], input row before the frames (CLS); its output represents the patch
  Decoder decoder_;
};

/// Computes the next patch from a row of the language models, with a solver.
class LocalDit {
 public:
  static constexpr int kSolverSteps = 10;

  /// Loads the layers. `root` contains "feat_decoder.estimator." and "{lm,res}_to_dit_proj.".
  LocalDit(const ModelConfig& config, const Weights& root, WeightType type);
  /// Moves the weights, for operands on the device.
  void move_to(Device device);
  /// Computes E patches from noise, in place in x [E, P * D], by Euler's method. hidden [E, 2 H]:
  /// rows of the two language models side by side. `past` [E, P * D]: the previous patches.
  /// `scales` [E]: those of guide_zero_star(), whose rows without the condition run in the same
  /// batch; empty: no guidance, at half the cost.
  void run(StepContext& ctx, const View& hidden, const View& past, const View& scales,
           const View& x) const;
  size_t bytes() const { return weight_bytes(lm_, residual_, in_, before_, out_, decoder_); }

 private:
  struct Times {
    float t[kSolverSteps + 1];
  };
  static Times solver_times();
  void embed_times(const Weights& estimator);
  /// Computes v [R, P * D] for x [R, P * D] at the solver's time number `step`. `condition` [R, 2 +
  /// P, W]: the conditions, i.e. 2 rows of the language models, then the previous patch.
  void estimate(StepContext& ctx, int step, const View& condition, const View& x,
                const View& v) const;

  ModelConfig config_;
  PackedLinear lm_, residual_;      // H -> W
  PackedLinear in_, before_, out_;  // D -> W, D -> W, W -> D
  Decoder decoder_;
  Times times_;
  Tensor time_rows_;  // [kSolverSteps, W]
};

}  // namespace syrinx::voxcpm2
