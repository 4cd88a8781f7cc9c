// The rows before the audio, as the model reads them: one for each symbol of the text,
// and one for each condition (speaker, emotion, pitch, ...). Const after construction;
// any thread. Source: Zonos:zonos/conditioning.py. H: width. S: symbols. C:
// conditions.
#pragma once

#include <vector>

#include "families/zonos/conditions.h"
#include "families/zonos/config.h"
#include "io/weights.h"
#include "kernels/linear.h"
#include "nn/layers.h"

namespace syrinx::zonos {

class PrefixConditioner {
 public:
  /// Loads the layers. `weights`: the scope "prefix_conditioner".
  PrefixConditioner(const ModelConfig& config, const Weights& weights, WeightType type);

  /// Returns the rows [S, H] of all symbols, in the order of their ids.
  const Tensor& symbols() const { return symbols_; }
  /// Returns the rows [C, H] of all conditions except the phonemes, in the config's order. A
  /// missing condition has its unconditional row.
  Tensor rows(const Conditions& conditions) const;

  size_t bytes() const;  ///< bytes of the weights, without the symbols

 private:
  struct Part {
    ConditionerConfig config;
    Tensor table = {};              // table of integers [count, H], or frequencies [H / 2, inputs]
    Tensor weight = {}, bias = {};  // layer of the projection: weight [H, inputs], bias [H]
    Tensor unconditional = {};      // [H], for a condition without numbers
  };
  Part load_part(const ConditionerConfig& config, const Weights& weights) const;
  void apply(const Part& part, const std::vector<double>& numbers, float* out) const;
  void map(const Tensor& rows) const;

  int64_t width_;
  std::vector<Part> parts_;  // all parts except the phonemes
  Tensor symbols_;
  PackedLinear project_;
  LayerNorm norm_;
};

}  // namespace syrinx::zonos
