// VITS' text encoder: turns each phoneme id into a hidden row, and into the mean and the log
// deviation of its prior. Self-attention has learned vectors for near distances. Whole texts of
// several requests run at once, and a text's rows do not depend on the other texts. Formula: VITS
// (arXiv 2106.06103) with Shaw's relative positions (arXiv 1803.02155). Source of the layout:
// vits:models.py (TextEncoder), attentions.py (Encoder). Const after construction. P: ids of a
// text; H: hidden width; C: latent width.
#pragma once

#include <vector>

#include "families/piper/same_conv.h"

namespace syrinx::piper {

class TextEncoder {
 public:
  explicit TextEncoder(const VoiceParts& parts);

  struct Read {
    RowBatch hidden;  ///< [P, H] of each text
    RowBatch prior;   ///< [P, 2 C]: means, then logarithms of the deviations
  };
  /// Processes the texts together; text i becomes lane i. All ids must be below symbols().
  Read run(StepContext& ctx, std::span<const std::span<const int32_t>> texts) const;

  int64_t symbols() const { return symbols_; }
  int64_t hidden() const { return hidden_; }
  int64_t latent() const { return proj_.out() / 2; }
  size_t bytes() const;

 private:
  struct Layer {
    PackedLinear qkv, out;
    Tensor near_keys, near_values;  // [2 window + 1, D]
    ChannelNorm after_attention, after_ffn;
    SameConv up, down;
  };
  Layer load_layer(const VoiceParts& parts, int64_t index);
  void attend_row(const Layer& layer, const float* qkv, const float* keys, int64_t count, int64_t i,
                  int64_t head, float* score, float* out) const;
  void attend(StepContext& ctx, const Layer& layer, const RowBatch& qkv, const View& mixed) const;

  int64_t symbols_ = 0, hidden_ = 0, heads_ = 0, window_ = 0;
  Tensor table_;
  std::vector<Layer> layers_;
  PackedLinear proj_;
};

}  // namespace syrinx::piper
