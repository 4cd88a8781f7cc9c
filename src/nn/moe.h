// A feed-forward layer of many experts. Each row uses a few of them: a router gives every expert a
// probability, the most probable ones run, and the weighted outputs are added. Rows are sorted by
// expert, so that an expert's weights are read once for all of its rows. CPU only. Const after
// construction, shared by threads; a call allocates nothing once the arena is large enough. A row's
// result has the same bits in any batch and on any threads: the outputs of its experts are added in
// the order of expert indices, regardless of other rows. Formulas: transformers'
// Qwen3MoeSparseMoeBlock and Qwen2MoeSparseMoeBlock (the shared expert). N rows, H width of the
// model, E experts, F width of an expert.
#pragma once

#include <vector>

#include "nn/layers.h"

namespace syrinx {

/// Sizes. Plain data.
struct MoeConfig {
  int experts = 0;         ///< E; 0: there are no experts
  int top_k = 0;           ///< experts per row
  int ffn = 0;             ///< F
  bool normalised = true;  ///< the weights of a row's experts are scaled to the sum 1
  int shared_ffn = 0;      ///< width of an expert that all rows use, with a gate; 0: none
};

/// The router and all experts of one layer.
class Moe {
 public:
  Moe() = default;
  /// Takes gate.weight [E, H], experts.N.{gate,up,down}_proj.weight and, with a shared expert,
  /// shared_expert.{gate,up,down}_proj.weight and shared_expert_gate.weight [1, H]. The router and
  /// the gate are kept in f32 for any `type`: small differences decide which experts run.
  Moe(const MoeConfig& config, int64_t hidden, const Weights& weights, WeightType type);

  const MoeConfig& config() const { return config_; }
  bool empty() const { return experts_.empty(); }
  size_t bytes() const;

  /// Adds the weighted outputs of the experts for x [N, H] to out [N, H].
  void add(StepContext& ctx, const View& x, const View& out) const;

 private:
  /// The linears of an expert, which computes down(silu(gate x) * up x).
  struct Expert {
    Expert() = default;
    Expert(const Weights& weights, int64_t hidden, int64_t ffn, WeightType type);
    PackedLinear up, down;
  };
  /// The assignment of rows to experts.
  struct Routes {
    std::span<int32_t> begin;  // [E + 1]: first index of each expert in `rows` and `weights`
    std::span<int32_t> rows;   // [N * top_k], ascending within each expert
    std::span<float> weights;  // [N * top_k]
  };

  /// Makes the arena large enough for the most uneven assignment, so that no later step allocates.
  void reserve(StepContext& ctx, int64_t rows) const;
  Routes route(StepContext& ctx, const View& x) const;
  void add_shared(StepContext& ctx, const View& x, const View& out) const;

  MoeConfig config_;
  PackedLinear router_, shared_gate_;
  std::vector<Expert> experts_;
  Expert shared_;
};

}  // namespace syrinx
