// The talker and its code predictor as one AR stage: the talker gives code 0 of a step, the
// predictor, a small decoder that starts anew in every step, the other codes one after another.
// Const after construction. E sequences that yield a step, H talker width, P predictor width,
// C codes a frame, N rows in the batch.
#pragma once

#include <memory>
#include <vector>

#include "families/qwen3_tts/config.h"
#include "io/weights.h"
#include "model/stage.h"
#include "nn/decoder.h"

namespace syrinx::qwen3_tts {

/// Codes 1 .. C-1 of a step from the talker's hidden row and the codes before.
class CodePredictor {
 public:
  /// `weights` is the scope "talker.code_predictor"; it must outlive this (tables are not copied).
  CodePredictor(const ModelConfig& config, const Weights& weights, WeightType type);

  /// Tables [V, H] of codes 1 .. C-1, which the talker's input adds up too.
  const std::vector<View>& tables() const { return tables_; }
  /// `moved` keeps the tables.
  void move_to(Device device, MovedTables& moved);
  size_t scratch_bytes(int emits) const;
  size_t bytes() const;

  /// Logits [E, V] of code k >= 1. first [H] table rows belong to code 0. `scratch` is kept between
  /// the calls of a step, k = 1, 2, ...
  void logits(StepContext& ctx, int k, const View& first_table, const View& hidden,
              const View& codes, const View& scratch, const View& out) const;

 private:
  View inputs(StepContext& ctx, int k, const View& first_table, const View& hidden,
              const View& codes) const;

  Decoder decoder_;
  KvSpec kv_;
  std::vector<View> tables_;
  PackedLinear projection_;  // H -> P; empty when they are equal
  std::vector<PackedLinear> heads_;
};

class Talker : public ArStage {
 public:
  /// `weights` is the scope "talker" and must outlive this.
  Talker(const ModelConfig& config, const Weights& weights, WeightType type);

  const ArTraits& traits() const override { return traits_; }
  Device device() const override { return head_.device(); }
  void move_to(Device device);
  size_t scratch_bytes(int emits) const override { return predictor_.scratch_bytes(emits); }
  void forward(StepContext& ctx, const ArBatch& batch, View hidden) const override;
  void logits(StepContext& ctx, int k, const ArBatch& batch, View hidden, View codes,
              View out) const override;

  size_t bytes() const;
  size_t table_bytes() const;
  const CodePredictor& predictor() const { return predictor_; }

  /// The vector [H] of an id of codebook 0's table, where named speakers are too.
  std::vector<float> codec_row(int32_t id) const;

  /// The input rows of a batch, [N, H]; in the arena.
  View embed_rows(StepContext& ctx, const ArBatch& batch) const;

 private:
  void add_text(StepContext& ctx, std::span<const int32_t> ids, const View& x) const;
  /// text_projection of rows of the text table: out [ids, H].
  void project(StepContext& ctx, std::span<const int32_t> ids, const View& out) const;

  ModelConfig config_;
  ArTraits traits_;
  Decoder decoder_;
  CodePredictor predictor_;
  View text_table_, codec_table_;  // [text_vocab, text_hidden], [talker_vocab, H]; stored type
  View host_codec_table_;          // codec_table_ as the checkpoint's file has it
  MovedTables moved_;
  std::vector<View> tables_;       // C of them: of code 0, then the predictor's
  PackedLinear text_fc1_, text_fc2_, head_;
  std::vector<int32_t> common_ids_;  // text ids that most rows have
  Tensor common_;                    // their projections [ids, H]
};

}  // namespace syrinx::qwen3_tts
