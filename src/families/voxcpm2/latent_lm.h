// VoxCPM2's language models as one AR stage whose steps yield latents. The base model
// reads text and patches, and its rows of patches are rounded (FSQ). The residual model
// reads these rows together with the patches. A local transformer makes the next patch
// from both, for all emitting rows of a batch at once. A small head decides whether it was
// the last patch. Const after construction. Networks:
// VoxCPM:src/voxcpm/model/voxcpm2.py. E: sequences that yield a step. H: width. N: rows in
// the batch. P * D: values of a patch.
#pragma once

#include "families/network_stage.h"
#include "families/voxcpm2/local_nets.h"

namespace syrinx::voxcpm2 {

class LatentLm : public NetworkStage {
 public:
  /// `weights`: the root of the checkpoint. It must outlive this object, because the table of ids
  /// is not copied.
  LatentLm(const ModelConfig& config, const Weights& weights, WeightType type);

  /// Moves the weights.
  void move_to(Device device) {
    place_.move(device, table_, base_, residual_, fsq_in_, fsq_out_, fusion_, stop_, stop_head_,
                encoder_, dit_);
  }
  /// Writes hidden [E, 2 H]: the rows of the base model (rounded if they are patches), beside those
  /// of the residual model.
  void forward(StepContext& ctx, const ArBatch& batch, View hidden) const override;
  /// Writes the logits of a step's only code. Code 1 marks the step's patch as the last one.
  void logits(StepContext& ctx, int k, const ArBatch& batch, View hidden, View codes,
              View out) const override;
  void values(StepContext& ctx, const ArBatch& batch, View hidden, View codes,
              View out) const override;

  size_t base_bytes() const { return base_.bytes(); }
  size_t residual_bytes() const { return residual_.bytes(); }
  /// Returns the bytes of the layers between and after the two models.
  size_t joint_bytes() const { return weight_bytes(fsq_in_, fsq_out_, fusion_, stop_, stop_head_); }
  size_t table_bytes() const { return table_.bytes(); }
  const LocalEncoder& encoder() const { return encoder_; }
  const LocalDit& dit() const { return dit_; }

 private:
  /// The input rows of a batch.
  struct Inputs {
    View x;                          // [N, H]
    View patches;                    // [N, H], rows of patches; other rows are zeros
    std::span<const int32_t> audio;  // indices of the rows that are patches
  };
  Inputs embed_rows(StepContext& ctx, const ArBatch& batch) const;
  void round(StepContext& ctx, const View& x, std::span<const int32_t> rows) const;

  ModelConfig config_;
  View table_;  // [V, H], as stored
  Decoder base_, residual_;
  PackedLinear fsq_in_, fsq_out_, fusion_, stop_, stop_head_;
  LocalEncoder encoder_;
  LocalDit dit_;
};

}  // namespace syrinx::voxcpm2
