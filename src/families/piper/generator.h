// HiFi-GAN's generator as a stream. Transposed convolutions turn latent rows into samples.
// After each one, the outputs of residual blocks of several widths are averaged. Every layer
// keeps the rows that it needs later, so calls over parts of a stream yield the same bits as
// one call over the whole stream. Source: vits:models.py (Generator), modules.py (ResBlock1,
// ResBlock2); arXiv 2010.05646. Const after construction. C: latent channels; G: width of a
// speaker's embedding.
#pragma once

#include <vector>

#include "families/piper/parts.h"
#include "families/piper/row_batch.h"

namespace syrinx::piper {

class Generator {
 public:
  /// Loads the layers. `latent`: C. `speaker`: G; 0 means a single speaker.
  Generator(const VoiceParts& parts, int64_t latent, int64_t speaker);

  /// Returns the number of samples per latent row.
  int64_t hop() const { return hop_; }
  /// Appends the state of each layer to a stream's `memory`, in the order in which run() uses them.
  void open(StreamMemory& memory) const;
  /// Returns the vector that a speaker's embedding adds to the first convolution's rows. Empty for
  /// a voice with one speaker.
  std::vector<float> condition(std::span<const float> embedding) const;
  /// Processes z [T, C] of each stream. Returns the samples [.., 1] that later rows cannot change.
  /// conditions[i]: condition of stream i.
  RowBatch run(LanePass& pass, const RowBatch& z,
               std::span<const std::span<const float>> conditions) const;
  /// Returns the number of final samples after `rows` input rows if more rows may follow.
  int64_t certain(int64_t rows) const;
  /// Moves the weights to a GPU. States opened afterwards, and rows, must then be there.
  void move_to(Device device);
  Device device() const { return first_.device(); }
  size_t bytes() const;

 private:
  /// Computes x += convs(leaky(x)) several times; each time has one or two convolutions.
  struct Block {
    std::vector<std::vector<CausalConv1d>> parts;
  };
  struct Stage {
    CausalConvTranspose1d up;
    std::vector<Block> blocks;
  };
  static Block load_block(const VoiceParts& parts, const std::string& module, int64_t width);
  RowBatch run_block(LanePass& pass, const Block& block, RowBatch x) const;

  int64_t hop_ = 1, speaker_ = 0;
  CausalConv1d first_, last_;
  std::vector<Stage> stages_;
  Tensor condition_weight_, condition_bias_;
};

}  // namespace syrinx::piper
