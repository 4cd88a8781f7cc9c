// The talker and its code predictor as one AR stage: the talker gives code 0 of a step, the
// predictor, a small decoder that starts anew in every step, the other codes one after another.
// Const after construction. E sequences that yield a step, H talker width, C codes a frame, N rows
// in the batch.
#pragma once

#include <memory>
#include <vector>

#include "families/qwen3_tts/code_predictor.h"
#include "families/qwen3_tts/config.h"
#include "families/qwen3_tts/text_projection.h"
#include "io/weights.h"
#include "model/stage.h"
#include "nn/decoder.h"

namespace syrinx::qwen3_tts {

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
  ModelConfig config_;
  ArTraits traits_;
  Decoder decoder_;
  CodePredictor predictor_;
  View codec_table_;       // [talker_vocab, H]; stored type
  View host_codec_table_;  // codec_table_ as the checkpoint's file has it
  MovedTables moved_;
  std::vector<View> tables_;  // C of them: of code 0, then the predictor's
  TextProjection text_;
  PackedLinear head_;
};

}  // namespace syrinx::qwen3_tts
