// What stands before the audio: rows for the text's phonemes and one row for each further condition
// (speaker, emotion, pitch, ...), mapped to the width of the model. Const after construction; any
// thread. Source: Zonos:zonos/conditioning.py.
// H width, P rows.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "families/zonos/config.h"
#include "io/weights.h"
#include "kernels/linear.h"
#include "nn/layers.h"

namespace syrinx::zonos {

/// Numbers of a condition by its name; a name without numbers is unconditional.
using Conditions = std::map<std::string, std::vector<double>>;

class PrefixConditioner {
 public:
  /// `weights` is the scope "prefix_conditioner".
  PrefixConditioner(const ModelConfig& config, const Weights& weights, WeightType type);

  /// One row of the prefix before the common projection: a phoneme, or a vector.
  struct Row {
    int32_t phoneme = -1;
    std::vector<float> vector;  ///< [H] when phoneme < 0
  };
  /// The rows of conditions in the order of the config, `phonemes` among them. Conditions that are
  /// absent are unconditional; those that cannot be take their number all the same.
  /// `companion`: of guidance: what can be unconditional is.
  std::vector<Row> rows(const std::vector<int32_t>& phonemes, const Conditions& conditions,
                        bool companion) const;

  /// The vector [H] of a row; valid as long as the row and this.
  std::span<const float> vector(const Row& row) const;
  /// out [P, H] = the model's input rows, of their vectors.
  void embed(StepContext& ctx, std::span<const std::span<const float>> rows, const View& out) const;

  /// Moves what embed() needs there.
  void move_to(Device device);
  const std::vector<ConditionerConfig>& config() const { return config_; }
  size_t bytes() const;

 private:
  struct Part {
    ConditionerConfig config;
    Tensor table;          // phonemes or integers [count, H]; frequencies [H / 2, inputs]
    Tensor weight, bias;   // of the projection: [H, inputs], [H]
    Tensor unconditional;  // [H]
  };
  std::vector<float> apply(const Part& part, const std::vector<double>& numbers) const;

  std::vector<ConditionerConfig> config_;
  int64_t width_;
  std::vector<Part> parts_;
  size_t phonemes_ = 0;  // which part
  PackedLinear project_;
  LayerNorm norm_;
};

}  // namespace syrinx::zonos
