// How text reaches a talker: rows of a text table through two linears with SiLU between them.
// Qwen3-TTS and Qwen3-Omni have the same. Const after construction, shared by threads.
// N rows, T width of the text table, H talker width.
#pragma once

#include <vector>

#include "nn/layers.h"

namespace syrinx::qwen3_tts {

/// out = fc2(silu(fc1 x)).
class ResizeMlp {
 public:
  ResizeMlp() = default;
  /// linear_fc1 [inner, in], linear_fc2 [out, inner], with biases.
  ResizeMlp(const Weights& weights, int64_t in, int64_t inner, int64_t out, WeightType type);

  int64_t in() const { return fc1_.in(); }
  int64_t out() const { return fc2_.out(); }
  size_t bytes() const { return fc1_.bytes() + fc2_.bytes(); }
  void move_to(Device device);
  void operator()(StepContext& ctx, const View& x, const View& out) const;

 private:
  PackedLinear fc1_, fc2_;
};

class TextProjection {
 public:
  TextProjection() = default;
  /// `table` [V, T] must outlive this. The rows of `common` ids, which most steps add, are kept.
  TextProjection(const View& table, ResizeMlp projection, std::vector<int32_t> common);

  const View& table() const { return table_; }
  size_t bytes() const { return projection_.bytes() + common_.bytes(); }
  /// `moved` keeps the table.
  void move_to(Device device, MovedTables& moved);

  /// x[i] += the projection of ids[i], or, for a negative id, += row -1 - ids[i] of `other` [M, H].
  /// x [N, H].
  void add(StepContext& ctx, std::span<const int32_t> ids, const View& x,
           const View& other = {}) const;

 private:
  /// out [ids, H].
  void project(StepContext& ctx, std::span<const int32_t> ids, const View& out) const;

  View table_;
  ResizeMlp projection_;
  std::vector<int32_t> common_ids_;
  Tensor common_;  // their projections [ids, H]
};

}  // namespace syrinx::qwen3_tts
