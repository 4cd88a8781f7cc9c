// A feed-forward layer of many experts. Each row uses a few of them: a router gives every expert a
// probability, the most probable experts run, and their weighted outputs are added. Rows are
// sorted by expert, so that an expert's weights are read once for all its rows. Const after
// construction, shared by threads; a call allocates nothing once the arena is large enough.
// A row's result has the same bits in any batch and on any threads: the outputs of its experts are
// added in the order of expert indices. Formulas: Qwen3MoeSparseMoeBlock and
// Qwen2MoeSparseMoeBlock (the shared expert) of transformers. N rows, H width of the model, E
// experts, F width of an expert.
#pragma once

#include <vector>

#include "kernels/experts.h"
#include "nn/layers.h"

namespace syrinx {

/// Sizes of the layer. Plain data.
struct MoeConfig {
  int experts = 0;         ///< E: number of experts; 0 means none
  int top_k = 0;           ///< number of experts that a row uses
  int ffn = 0;             ///< F: width of an expert
  bool normalised = true;  ///< whether the weights of a row's experts are scaled to the sum 1
  int shared_ffn = 0;      ///< width of a gated expert that all rows use; 0: no such expert
};

/// The router and all experts of one layer.
class Moe {
 public:
  Moe() = default;
  /// Loads gate.weight [E, H], experts.N.{gate,up,down}_proj.weight and, with a shared expert,
  /// shared_expert.{gate,up,down}_proj.weight and shared_expert_gate.weight [1, H]. Router and gate
  /// are f32 for any `type`, because small differences could select other experts.
  Moe(const MoeConfig& config, int64_t hidden, const Weights& weights, WeightType type);

  const MoeConfig& config() const { return config_; }
  bool empty() const { return experts_.empty(); }
  size_t bytes() const;
  /// Moves the weights to a GPU, for rows on the GPU. Throws LoadError if the number of experts
  /// exceeds a limit of ExpertTable.
  void move_to(Device device);

  /// Adds the weighted outputs of the experts for x [N, H] to out [N, H].
  void add(StepContext& ctx, const View& x, const View& out) const;

 private:
  /// The linears of an expert. It computes down(silu(gate x) * up x).
  struct Expert {
    Expert() = default;
    Expert(const Weights& weights, int64_t hidden, int64_t ffn, WeightType type);
    PackedLinear up, down;
  };
  /// Which rows each expert processes, and with which weights.
  struct Routes {
    std::span<int32_t> begin;  // [E + 1]: each expert's first index in `rows` and `weights`
    std::span<int32_t> rows;   // [N * top_k], ascending within each expert
    std::span<float> weights;  // [N * top_k]
  };

  /// Enlarges the arena for the most uneven assignment of rows, so that no later step allocates.
  void reserve(StepContext& ctx, int64_t rows) const;
  Routes route(StepContext& ctx, const View& x) const;
  void add_chosen(StepContext& ctx, const View& x, const View& out) const;
  void add_shared(StepContext& ctx, const View& x, const View& out) const;

  MoeConfig config_;
  PackedLinear router_, shared_gate_;
  std::vector<Expert> experts_;
  Expert shared_;
  ExpertTable moved_;  // addresses of the weights in experts_; on a GPU
};

}  // namespace syrinx
