// The experts of a feed-forward layer on a GPU: chooses each row's experts and runs the chosen
// ones. The device groups the rows by expert, so the host does not wait for the choice, and a
// step's launches depend only on its number of rows. nn/moe.h has the formulas, and runs experts on
// the CPU. N rows, H width of the rows, E experts, F width of an expert.
#pragma once

#include <span>

#include "kernels/linear.h"

namespace syrinx {

/// The weights of all experts, which have equal shapes and types.
class ExpertTable {
 public:
  /// The matrices of all experts: their type, padded rows and inputs.
  struct Matrices {
    WeightType type = WeightType::kF32;
    int64_t rows = 0, k = 0;
  };

  static constexpr int kMost = 1024;      ///< largest number of experts
  static constexpr int kMostChosen = 32;  ///< largest number of experts of a row

  ExpertTable() = default;
  /// up[e] is a gated linear [F, H], down[e] a linear [H, F]; all are on a GPU, without biases. The
  /// table has their addresses, so the linears' weights must outlive it.
  ExpertTable(std::span<const PackedLinear* const> up, std::span<const PackedLinear* const> down);

  bool empty() const { return addresses_.empty(); }
  int experts() const { return experts_; }
  const Matrices& up() const { return up_; }
  const Matrices& down() const { return down_; }
  /// Returns the addresses of the matrices of `up`, then of `down`: [2 E] pointers on the GPU.
  const View& addresses() const { return addresses_.view(); }

 private:
  int experts_ = 0;
  Matrices up_, down_;
  Tensor addresses_;
};

/// Computes out[n] += sum over the chosen e of weight[n, e] * down_e(up_e(x[n])), in ascending
/// order of e. Chosen are the `top_k` experts with the highest logits, of equal ones the first.
/// Their weights are exp(logit), divided by the sum over the chosen experts if `normalised`, else
/// over all. x, out [N, H], logits [N, E] f32, on a GPU; top_k at most
/// ExpertTable::kMostChosen. A row has the same bits in any batch.
void add_experts(StepContext& ctx, const ExpertTable& table, const View& x, const View& logits,
                 int top_k, bool normalised, const View& out);

}  // namespace syrinx
