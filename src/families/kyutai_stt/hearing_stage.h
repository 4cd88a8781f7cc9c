// Mimi's encoder as a chunk node: samples of frames -> codes -> rows for the language model, the
// sums of the codes' embeddings. The first row of a stream is that of the code before the
// recording; Mimi hears the first frame, or begins with the second one (ModelConfig::transformers).
// The bits of a stream do not depend on other streams of a batch. Mimi's attention has its whole
// window, as in training and in moshi's encode() of whole recordings. In moshi's loop over frames,
// every second row misses the oldest position. H width of the language model, Q codebooks.
#pragma once

#include <vector>

#include "codec/mimi_encoder.h"
#include "families/kyutai_stt/config.h"
#include "model/graph.h"
#include "nn/layers.h"

namespace syrinx::kyutai_stt {

class HearingStage : public ChunkStage {
 public:
  /// `tables`: Q tables [card + 1, H], which must outlive this object. `mimi`: the scope of Mimi.
  HearingStage(const ModelConfig& config, std::vector<View> tables, const Weights& mimi);

  ChunkPolicy policy() const { return {.initial = 1, .steady = 1}; }
  const MimiEncoder& encoder() const { return encoder_; }
  size_t bytes() const;
  /// Moves the weights. Streams opened afterwards have their state there, too.
  void move_to(Device device) { place_.move(device, encoder_, tables_); }
  Device device() const override { return place_.device(); }

  FrameType in() const override { return {Flow::kSamples, static_cast<int>(config_.mimi.hop())}; }
  FrameType out() const override { return {Flow::kRows, config_.lm.hidden}; }
  std::unique_ptr<StreamState> open(Bundle bundle) const override;
  void run(StepContext& ctx, std::span<ChunkJob> jobs) const override;
  int cut(const StreamState& state, const WaitingFrames& waiting, int planned) const override;

 private:
  ModelConfig config_;
  MimiEncoder encoder_;
  std::vector<View> tables_;     // Q tables [card + 1, H]
  std::vector<int32_t> before_;  // the codes before a recording
  WeightPlace place_;
};

}  // namespace syrinx::kyutai_stt
