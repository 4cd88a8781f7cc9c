// The encoder as a chunk node: samples of hops -> mel frames -> subsampling -> FastConformer ->
// rows for the joint network. A stream of a cache-aware model takes hops in whole chunks of
// lookahead + 1 rows, and the rest at its end. A stream of another model takes a whole recording at
// once. The bits of a stream do not depend on other streams of a batch. On a GPU, the mel is still
// computed by the host.
#pragma once

#include "families/transducer/config.h"
#include "model/graph.h"

namespace syrinx::transducer {

class HearingStage : public ChunkStage {
 public:
  HearingStage(const ModelConfig& config, const Weights& weights, WeightType type);

  /// Returns the policy. Left context and lookahead: the hops that a mel frame's window covers.
  ChunkPolicy policy() const;
  const FastConformer& conformer() const { return conformer_; }
  /// Moves the weights. Streams opened afterwards have their state there, too.
  void move_to(Device device) { place_.move(device, subsampling_, conformer_, project_); }
  Device device() const override { return place_.device(); }
  size_t bytes() const { return subsampling_.bytes() + conformer_.bytes() + project_.bytes(); }

  FrameType in() const override { return {Flow::kSamples, config_.mel.hop}; }
  FrameType out() const override { return {Flow::kRows, static_cast<int>(config_.hidden)}; }
  Bundle bundle(const Sequence& sequence) const override;
  std::unique_ptr<StreamState> open(Bundle bundle) const override;
  void run(StepContext& ctx, std::span<ChunkJob> jobs) const override;
  int cut(const StreamState& state, const WaitingFrames& waiting, int planned) const override;
  void follow(StreamState& state, const ChunkJob& job) const override;

 private:
  View mels(StepContext& ctx, const ChunkJob& job) const;

  ModelConfig config_;
  MelSpectrogram mel_;
  ConvSubsampling subsampling_;
  FastConformer conformer_;
  PackedLinear project_;
  WeightPlace place_;
};

}  // namespace syrinx::transducer
