// VITS' prior flow, backwards, as a stream: residual couplings, each a WaveNet of "same"
// convolutions that reads one half of the channels and moves the other. Every layer keeps the rows
// that it needs later, so a stream cut anywhere gives the bits of one whole call. Rows come out
// late by the lookahead of the convolutions. Source: vits:models.py (ResidualCouplingBlock),
// modules.py (ResidualCouplingLayer, WN). Const after construction. C latent channels, H hidden
// width, G width of a speaker's embedding.
#pragma once

#include <vector>

#include "families/piper/parts.h"
#include "families/piper/row_batch.h"

namespace syrinx::piper {

class PriorFlow {
 public:
  /// `latent`: C. `speaker`: G, 0: one speaker.
  PriorFlow(const VoiceParts& parts, int64_t latent, int64_t speaker);

  /// Appends the memory of a stream, in the order of run().
  void open(StreamMemory& memory) const;
  /// The summands before the gates for a speaker's embedding, [couplings, layers, 2 H]; empty for a
  /// voice of one speaker.
  std::vector<float> condition(std::span<const float> embedding) const;
  /// z [T, C] of each stream -> the rows that became certain. conditions[i]: of stream i.
  RowBatch run(LanePass& pass, const RowBatch& z,
               std::span<const std::span<const float>> conditions) const;
  /// Rows that are certain once `rows` have come in and more may follow.
  int64_t certain(int64_t rows) const;
  size_t bytes() const;

 private:
  struct Wave {
    StreamConv in;
    PackedLinear residual, skip;  // no residual in the last one
  };
  struct Coupling {
    PackedLinear pre, post;  // over all C: of the half that is not meant, the weights are zeros
    std::vector<Wave> waves;
    Tensor condition_weight, condition_bias;
  };
  Coupling load(const VoiceParts& parts, const std::string& module, bool flipped) const;
  RowBatch couple(LanePass& pass, const Coupling& coupling, const RowBatch& z,
                  std::span<const std::span<const float>> conditions, size_t at) const;

  int64_t latent_ = 0, speaker_ = 0, hidden_ = 0;
  std::vector<Coupling> couplings_;  // in the order in which they are undone
};

}  // namespace syrinx::piper
