// T3, the language model of Chatterbox, as an AR stage: a Llama decoder with learned positions, fed
// a voice, a text and speech tokens; its companion is fed the same with the text left out. Const
// after construction. H width.
#pragma once

#include "families/chatterbox/config.h"
#include "families/chatterbox/voice.h"
#include "model/stage.h"

namespace syrinx::chatterbox {

class SpeechLm : public ArStage {
 public:
  /// `weights` is t3_cfg.safetensors and must outlive this (tables are not copied).
  SpeechLm(const ModelConfig& config, const Weights& weights, WeightType type);

  const ArTraits& traits() const override { return traits_; }
  Device device() const override { return head_.device(); }
  void move_to(Device device);
  void forward(StepContext& ctx, const ArBatch& batch, View hidden) const override;
  void logits(StepContext& ctx, int k, const ArBatch& batch, View hidden, View codes,
              View out) const override;

  /// Fills voice.rows: speaker, perceiver over the prompt's speech, emotion.
  void prepare(Voice& voice) const;
  /// A voice that is prepared, with another degree of emotion and a key of its own.
  Voice with_emotion(const Voice& voice, float degree) const;
  /// The input rows of a batch, [N, H]; in the arena.
  View embed_rows(StepContext& ctx, const ArBatch& batch) const;
  size_t bytes() const { return decoder_.bytes() + head_.bytes(); }
  size_t table_bytes() const;

 private:
  void put_emotion(Voice& voice) const;
  View perceive(StepContext& ctx, const View& queries, const View& seen) const;

  ModelConfig config_;
  ArTraits traits_;
  Decoder decoder_;
  MovedTables moved_;
  std::vector<View> host_tables_;  // tables_ as the checkpoint's file has them
  std::vector<View> tables_;       // text, text positions, speech, speech positions
  PackedLinear head_, speaker_, q_, k_, v_, mixed_;
  Tensor emotion_, queries_;
  LayerNorm norm_;
};

}  // namespace syrinx::chatterbox
