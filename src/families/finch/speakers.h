// Voice and speed of a request, as vectors that are added to the inputs of finch's two networks.
// All vectors are linear in the speaker, so speakers can be mixed by weight. Const after load.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "families/finch/config.h"
#include "io/weights.h"

namespace syrinx::finch {

/// The vectors that a request adds to every row and frame.
struct Manner {
  std::vector<float> lm;      ///< [hidden], added to the speech LM's input
  std::vector<float> strong;  ///< [hidden], added for words with an accent, which are spoken slower
  std::vector<float> low,
      high;              ///< [low_width], [high_width], added at the decoder's two rates
  float pitch_mean = 0;  ///< mean of ln Hz
  float gain = 1;        ///< factor of the samples
};

/// The vectors of all speakers, [S, width] for each network.
class Speakers {
 public:
  /// Loads lm.speaker [S, hidden], lm.speed [hidden], decoder.speaker.{low, high} [S, width],
  /// decoder.speaker.{pitch, gain} [S] (the gain as its logarithm) from `weights`. Loads nothing if
  /// config.speakers is empty.
  Speakers(const FinchConfig& config, const Weights& weights);

  /// Returns the vectors for shares [S] in the order of config.speakers, whose sum is 1. `speed`:
  /// factor above 0. `pitch`: shift in semitones. The speakers' pace does not carry the LM's speed
  /// out of the range of its training.
  std::shared_ptr<const Manner> manner(std::span<const float> shares, float speed,
                                       float pitch) const;

 private:
  FinchConfig config_;
  Tensor lm_, low_, high_, pitch_, gain_, speed_;  // f32; empty if config.speakers is empty
};

}  // namespace syrinx::finch
