// A feed-forward layer of many experts, of which each row asks a few: a router gives every expert
// a probability, the most probable ones run, and their outputs are added up by these weights.
// Rows are sorted by expert, so that an expert's weights are read once for all of its rows. Runs on
// the CPU only. Const after construction, shared by threads; a call allocates nothing once warm.
// A row's result is the same bits in any batch and on any threads: its experts are added in the
// order of their numbers, whichever other rows ask them.
// Formulas: transformers' Qwen3MoeSparseMoeBlock and Qwen2MoeSparseMoeBlock (the shared expert).
// N rows, H width of the model, E experts, F width of an expert.
#pragma once

#include <vector>

#include "nn/layers.h"

namespace syrinx {

/// Sizes. Plain data.
struct MoeConfig {
  int experts = 0;         ///< E; 0: no mixture
  int top_k = 0;           ///< experts that a row asks
  int ffn = 0;             ///< F
  bool normalised = true;  ///< the weights of a row's experts add up to one
  int shared_ffn = 0;      ///< of one more expert for every row, behind a gate; 0: none
};

/// The router and all experts of one layer.
class Moe {
 public:
  Moe() = default;
  /// gate.weight [E, H], experts.N.{gate,up,down}_proj.weight, and with a shared expert
  /// shared_expert.{gate,up,down}_proj.weight, shared_expert_gate.weight [1, H]. The router and the
  /// gate are kept in f32 whatever `type` says: which expert is asked hangs on small differences.
  Moe(const MoeConfig& config, int64_t hidden, const Weights& weights, WeightType type);

  const MoeConfig& config() const { return config_; }
  bool empty() const { return experts_.empty(); }
  size_t bytes() const;

  /// out [N, H] += the mixture's output for x [N, H].
  void add(StepContext& ctx, const View& x, const View& out) const;

 private:
  /// down(silu(gate x) * up x).
  struct Expert {
    Expert() = default;
    Expert(const Weights& weights, int64_t hidden, int64_t ffn, WeightType type);
    PackedLinear up, down;
  };
  /// Which rows ask which expert.
  struct Routes {
    std::span<int32_t> begin;  // [E + 1]: where an expert's rows begin in the two below
    std::span<int32_t> rows;   // [N * top_k], ascending for each expert
    std::span<float> weights;  // [N * top_k]
  };

  /// Makes the arena as large as the most lopsided routes would, so that no later step grows it.
  void reserve(StepContext& ctx, int64_t rows) const;
  Routes route(StepContext& ctx, const View& x) const;
  void add_shared(StepContext& ctx, const View& x, const View& out) const;

  MoeConfig config_;
  PackedLinear router_, shared_gate_;
  std::vector<Expert> experts_;
  Expert shared_;
};

}  // namespace syrinx
