// Adds text to the input rows of a talker: entries of a text table, projected by two linear layers
// with SiLU between them. Instead of text, a row may have a vector from another network, which has
// its own linear layers. Const after construction, shared by threads. N: rows. T: width of the text
// table. H: width of the talker.
#pragma once

#include <optional>
#include <vector>

#include "model/input_rows.h"
#include "nn/layers.h"

namespace syrinx {

/// Computes fc2(silu(fc1 x)).
class ResizeMlp {
 public:
  ResizeMlp() = default;
  /// Loads linear_fc1 [inner, in] and linear_fc2 [out, inner], with biases.
  ResizeMlp(const Weights& weights, int64_t in, int64_t inner, int64_t out, WeightType type);

  int64_t in() const { return fc1_.in(); }
  int64_t out() const { return fc2_.out(); }
  size_t bytes() const { return fc1_.bytes() + fc2_.bytes(); }
  void move_to(Device device);
  void operator()(StepContext& ctx, const View& x, const View& out) const;

 private:
  PackedLinear fc1_, fc2_;
};

/// The texts to add to a batch's rows. `rows` [N] are indices into the projections that add()
/// makes: first of the common ids, then of `vectors` vectors, then of the ids in `made`.
struct TextRows {
  std::span<int32_t> rows, made;
  int64_t vectors = 0;
};

/// The text table and its two linear layers.
class TextBeside {
 public:
  /// `table` [V, T] must outlive this object. The projections of the `common` ids, which most steps
  /// add, are computed once. `given`: the layers for given vectors. Without them, rows with vectors
  /// are not changed.
  TextBeside(const View& table, ResizeMlp projection, std::vector<int32_t> common,
             std::optional<ResizeMlp> given = {});

  bool reads_vectors() const { return given_.has_value(); }
  size_t bytes() const;
  const View& table() const { return table_; }
  /// Moves the weights to a device. `place` then owns the copy of the table.
  void move_to(Device device, WeightPlace& place);

  /// Finds the texts of rows by their ids [N]; -1: the row has a vector. `rows` and `made` [N] are
  /// memory for the result.
  TextRows find(std::span<const int32_t> ids, std::span<int32_t> rows,
                std::span<int32_t> made) const;
  /// Adds to x[i] the projection of text i or of the row's vector. x [N, H].
  void add(StepContext& ctx, const TextRows& text, std::span<const GivenRow> vectors,
           const View& x) const;

 private:
  /// Writes the projections of ids to out [ids, H].
  void project(StepContext& ctx, std::span<const int32_t> ids, const View& out) const;
  /// Writes the projections of the M vectors of rows without an id to out [M, H].
  void project_vectors(StepContext& ctx, const TextRows& text, std::span<const GivenRow> vectors,
                       const View& out) const;

  View table_;
  ResizeMlp projection_;
  std::optional<ResizeMlp> given_;
  std::vector<int32_t> common_ids_;
  Tensor common_;  // the projections of the common ids, [ids, H]
};

}  // namespace syrinx
