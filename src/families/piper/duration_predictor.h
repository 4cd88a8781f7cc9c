// VITS' stochastic duration predictor, run backwards: a flow of splines that depend on the text
// turns noise into the logarithm of each id's frame count. Processes whole texts of several
// requests at once. Source: vits:models.py (StochasticDurationPredictor), modules.py (DDSConv,
// ConvFlow). Const after construction. P: ids of a text; H: hidden width of the text; W: width
// inside; G: width of a speaker's embedding.
#pragma once

#include <vector>

#include "families/piper/same_conv.h"

namespace syrinx::piper {

class DurationPredictor {
 public:
  /// Loads the layers. `hidden`: H. `speaker`: G; 0 means a single speaker.
  DurationPredictor(const VoiceParts& parts, int64_t hidden, int64_t speaker);

  /// Returns the vector [W] that a speaker's embedding [G] adds to all rows. Empty for a voice with
  /// one speaker.
  std::vector<float> condition(std::span<const float> embedding) const;
  /// Returns the logarithms of the frame counts, [rows]. `hidden`: [P, H] of each text.
  /// `conditions`: one per text. `noise`: [rows, 2], already scaled.
  View run(StepContext& ctx, const RowBatch& hidden,
           std::span<const std::span<const float>> conditions, const View& noise) const;
  size_t bytes() const;

 private:
  /// Depthwise convolutions with growing dilation and residuals.
  struct Dilated {
    struct Layer {
      SameConv depthwise;
      ChannelNorm norm;
      PackedLinear mix;
      ChannelNorm mixed_norm;
    };
    std::vector<Layer> layers;
    Dilated() = default;
    Dilated(const VoiceParts& parts, const std::string& module, int64_t width);
    /// Changes x in place.
    void run(StepContext& ctx, const RowBatch& x) const;
    size_t bytes() const;
  };
  struct SplineFlow {
    PackedLinear pre, proj;  // 1 -> W, W -> 3 bins - 1
    Dilated convs;
  };
  void undo(StepContext& ctx, const SplineFlow& flow, const RowBatch& told, const View& fixed,
            const View& moved) const;

  int64_t width_ = 0, speaker_ = 0;
  PackedLinear pre_, proj_;
  Dilated convs_;
  Tensor condition_weight_, condition_bias_;
  std::vector<SplineFlow> flows_;  // in the order of inversion
  float mean_ = 0, inverse_scale_ = 1;
};

}  // namespace syrinx::piper
