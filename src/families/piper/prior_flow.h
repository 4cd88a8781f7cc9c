// VITS' prior flow, run backwards over a stream. It has residual couplings: a WaveNet of "same"
// convolutions reads one half of the channels and changes the other half. Every layer keeps the
// rows that it needs later, so calls over parts of a stream yield the same bits as one call. Output
// rows come later than the input by the lookahead of the convolutions. Source: vits:models.py
// (ResidualCouplingBlock), modules.py (ResidualCouplingLayer, WN). Const after construction. C:
// latent channels; H: hidden width; G: width of a speaker's embedding.
#pragma once

#include <vector>

#include "families/piper/parts.h"
#include "families/piper/row_batch.h"

namespace syrinx::piper {

class PriorFlow {
 public:
  /// Loads the layers. `latent`: C. `speaker`: G; 0 means a single speaker.
  PriorFlow(const VoiceParts& parts, int64_t latent, int64_t speaker);

  /// Appends the state of each layer to a stream's `memory`, in the order in which run() uses them.
  void open(StreamMemory& memory) const;
  /// Returns the values that a speaker's embedding adds to the gates' inputs, [couplings, layers, 2
  /// H]. Empty for a voice with one speaker.
  std::vector<float> condition(std::span<const float> embedding) const;
  /// Processes z [T, C] of each stream. Returns the rows that later input cannot change.
  /// conditions[i]: condition of stream i.
  RowBatch run(LanePass& pass, const RowBatch& z,
               std::span<const std::span<const float>> conditions) const;
  /// Returns the number of final rows after `rows` input rows if more rows may follow.
  int64_t certain(int64_t rows) const;
  /// Moves the weights to a GPU. States opened afterwards, and rows, must then be there.
  void move_to(Device device);
  Device device() const { return couplings_[0].waves[0].in.device(); }
  size_t bytes() const;

 private:
  struct Wave {
    CausalConv1d in;
    PackedLinear residual, skip;  // the last layer has no residual
  };
  struct Coupling {
    PackedLinear pre, post;  // over all C channels; unused weights are zero
    std::vector<Wave> waves;
    Tensor condition_weight, condition_bias;
  };
  Coupling load(const VoiceParts& parts, const std::string& module, bool flipped) const;
  RowBatch couple(LanePass& pass, const Coupling& coupling, const RowBatch& z,
                  std::span<const std::span<const float>> conditions, size_t at) const;

  int64_t latent_ = 0, speaker_ = 0, hidden_ = 0;
  std::vector<Coupling> couplings_;  // in the order of inversion
};

}  // namespace syrinx::piper
