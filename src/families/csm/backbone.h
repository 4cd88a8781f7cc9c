// The backbone and its depth decoder as one AR stage: the backbone gives code 0 of a step, the
// depth decoder, a small transformer that starts anew in every step, the other codes one after
// another. Const after construction. E sequences that yield a step, H backbone width, D depth
// width, C codes a frame, V codes of a table, N rows in the batch.
#pragma once

#include <vector>

#include "families/csm/config.h"
#include "io/weights.h"
#include "model/stage.h"
#include "nn/inner_decoder.h"

namespace syrinx::csm {

/// Codes 1 .. C-1 of a step from the backbone's hidden row and the codes before.
class DepthDecoder {
 public:
  /// `weights` is the scope "depth_decoder". tables: C of [V, H], for the codes that are fed.
  DepthDecoder(const ModelConfig& config, const Weights& weights, std::vector<View> tables,
               WeightType type);

  size_t scratch_bytes(int emits) const { return decoder_.scratch_bytes(emits); }
  size_t bytes() const;
  /// `moved` keeps the tables.
  void move_to(Device device, MovedTables& moved);

  /// Logits [E, V] of code k >= 1. `scratch` is kept between the calls of a step, k = 1, 2, ...
  void logits(StepContext& ctx, int k, const View& hidden, const View& codes, const View& scratch,
              const View& out) const;

 private:
  View inputs(StepContext& ctx, int k, const View& hidden, const View& codes) const;

  InnerDecoder decoder_;
  std::vector<View> tables_;
  PackedLinear projection_;  // H -> D
  std::vector<PackedLinear> heads_;
};

class Backbone : public ArStage {
 public:
  /// `weights` is the checkpoint's root and must outlive this: tables are not copied.
  Backbone(const ModelConfig& config, const Weights& weights, WeightType type);

  const ArTraits& traits() const override { return traits_; }
  Device device() const override { return head_.device(); }
  void move_to(Device device);
  size_t scratch_bytes(int emits) const override { return depth_.scratch_bytes(emits); }
  void forward(StepContext& ctx, const ArBatch& batch, View hidden) const override;
  void logits(StepContext& ctx, int k, const ArBatch& batch, View hidden, View codes,
              View out) const override;

  size_t bytes() const { return decoder_.bytes() + head_.bytes(); }
  size_t table_bytes() const;
  const DepthDecoder& depth() const { return depth_; }

  /// The input rows of a batch, [N, H]; in the arena.
  View embed_rows(StepContext& ctx, const ArBatch& batch) const;

 private:
  ModelConfig config_;
  ArTraits traits_;
  std::vector<View> tables_;  // C of [V, H], then the text's; as stored
  MovedTables moved_;
  Decoder decoder_;
  PackedLinear head_;
  DepthDecoder depth_;
};

}  // namespace syrinx::csm
