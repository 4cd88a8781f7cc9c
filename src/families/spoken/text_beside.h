// Text beside the codes of a talker's rows: rows of a text table through two linears with SiLU
// between them. A row may have a vector of another network instead, through linears of its own.
// Const after construction, shared by threads.
// N rows, T width of the text table, H talker width.
#pragma once

#include <optional>
#include <vector>

#include "model/input_rows.h"
#include "nn/layers.h"

namespace syrinx {

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

/// The text table and its two linears.
class TextBeside {
 public:
  /// `table` [V, T] must outlive this. The rows of `common` ids, which most steps add, are kept.
  /// `given`: what given vectors go through; without it they are not this class's.
  TextBeside(const View& table, ResizeMlp projection, std::vector<int32_t> common,
             std::optional<ResizeMlp> given = {});

  bool reads_vectors() const { return given_.has_value(); }
  size_t bytes() const;
  const View& table() const { return table_; }
  /// `moved` keeps the table.
  void move_to(Device device, MovedTables& moved);

  /// x[i] += the projection of ids[i], or, for id -1, that of the row's vector. x [N, H].
  void add(StepContext& ctx, std::span<const int32_t> ids, std::span<const GivenRow> vectors,
           const View& x) const;

 private:
  /// out [ids, H].
  void project(StepContext& ctx, std::span<const int32_t> ids, const View& out) const;
  /// out [M, H] of the M vectors of rows without an id.
  void project_vectors(StepContext& ctx, std::span<const int32_t> ids,
                       std::span<const GivenRow> vectors, const View& out) const;

  View table_;
  ResizeMlp projection_;
  std::optional<ResizeMlp> given_;
  std::vector<int32_t> common_ids_;
  Tensor common_;  // their projections [ids, H]
};

}  // namespace syrinx
