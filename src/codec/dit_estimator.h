// Estimators that are transformers (DitForm). Their blocks have attention and an MLP. A norm
// precedes each of the two, shifted and scaled as a function of time (adaLN-zero).
// kConvolutional (Step-Audio 2): each block also has two causal convolutions. Queries and keys
// are normed per head. Only the convolutions provide information on positions. kRotary
// (CosyVoice3): two causal convolutions of 16 groups precede the blocks, and their output is
// added. Queries and keys are rotated by position in the first head only, because the authors
// rotate rows before they divide rows into heads. Source:
// Step-Audio2:cosyvoice2/flow/decoder_dit.py (DiT);
// CosyVoice:cosyvoice/flow/DiT/{dit,modules}.py. Const after construction, shared by threads. F
// frames of a chunk, W width.
#pragma once

#include <vector>

#include "codec/flow_estimator.h"
#include "kernels/rope.h"
#include "nn/layers.h"

namespace syrinx {

class DitEstimator : public FlowEstimator {
 public:
  /// `config.dit` has the sizes. `weights`: the scope "decoder.estimator". `times`: the time of
  /// each solver step, in [0, 1].
  DitEstimator(const S3FlowConfig& config, const Weights& weights, std::span<const float> times,
               WeightType type, int64_t max_frames);

  void run(StepContext& ctx, const Chunks& chunks, int64_t step, const View& x,
           const View& out) const override;
  size_t bytes() const override;

 private:
  /// Shifts, scales and gates of a block as functions of time: vectors of W numbers.
  struct Modulation {
    Tensor values;  ///< [steps, parts, W]; the scales already include the addition of 1
    View part(int64_t step, int64_t number) const;
  };
  struct Block {
    Modulation time;
    PackedLinear qkv, out;
    PackedLinear up, down;
    // Used only in the convolutional form:
    LayerNorm q_norm{}, k_norm{}, between{};
    CausalConv1d first{}, second{};
  };

  std::vector<const CausalConv1d*> convolutions() const override;
  void move_weights(Device device) override;
  bool rotary() const { return dit_.form == DitForm::kRotary; }
  Modulation load_modulation(const Weights& weights, int64_t parts, int64_t scale,
                             const View& time) const;
  PackedLinear load_input(const Weights& weights, WeightType type) const;
  void load_convolutions(const Weights& weights, WeightType type, Block& block) const;
  View embed_times(const Weights& weights, std::span<const float> times, StepContext& ctx) const;
  Block load_block(const Weights& weights, const View& time, WeightType type) const;
  void run(StepContext& ctx, const Block& block, Call& call, const View& x) const;
  void add_positions(StepContext& ctx, Call& call, const View& x) const;
  void rotate(StepContext& ctx, const Call& call, const View& x) const;

  DitConfig dit_;
  PackedLinear in_, out_;
  CausalConv1d near_[2];  // kRotary: the two convolutions before the blocks
  RopeTable rope_;        // kRotary: angles of the first head
  std::vector<Block> blocks_;
  Modulation last_;
};

}  // namespace syrinx
