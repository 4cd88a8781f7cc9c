// The networks as stages of the graph: thinker (rows and ids to ids), talker (ids and rows to
// codes), code2wav (codes to samples); the tower is families/hearing's. Const after construction,
// shared by threads; the networks must outlive them. CPU only.
#pragma once

#include "codec/qwen3_codec.h"
#include "families/hearing/tower_stage.h"
#include "families/qwen3_omni/networks.h"
#include "model/graph.h"

namespace syrinx::qwen3_omni {

/// The thinker as the engine runs it.
class ThinkerStage : public ArStage {
 public:
  ThinkerStage(const ModelConfig& config, const Thinker& thinker);
  const ArTraits& traits() const override { return traits_; }
  void forward(StepContext& ctx, const ArBatch& batch, View hidden) const override;
  void logits(StepContext& ctx, int k, const ArBatch& batch, View hidden, View codes,
              View out) const override;

 private:
  const Thinker& thinker_;
  ArTraits traits_;
};

/// The talker as the engine runs it, with the predictor of a frame's other codes.
class TalkerStage : public ArStage {
 public:
  TalkerStage(const ModelConfig& config, const Talker& talker);
  const ArTraits& traits() const override { return traits_; }
  size_t scratch_bytes(int emits) const override { return talker_.scratch_bytes(emits); }
  void forward(StepContext& ctx, const ArBatch& batch, View hidden) const override;
  void logits(StepContext& ctx, int k, const ArBatch& batch, View hidden, View codes,
              View out) const override;

 private:
  const Talker& talker_;
  int64_t told_width_ = 0;
  ArTraits traits_;
};

/// The codec as the engine runs it.
class Code2WavStage : public ChunkStage {
 public:
  explicit Code2WavStage(const Qwen3Codec& codec) : codec_(codec) {}

  /// As Qwen3-TTS, whose decoder it is.
  static constexpr ChunkPolicy kPolicy{.initial = 1, .steady = 4};
  FrameType in() const override;
  FrameType out() const override;
  std::unique_ptr<StreamState> open(Bundle) const override;
  void run(StepContext& ctx, std::span<ChunkJob> jobs) const override;

 private:
  const Qwen3Codec& codec_;
};

}  // namespace syrinx::qwen3_omni
