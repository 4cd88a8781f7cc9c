// Piper's network as stages of a graph. A step of the Reader turns a sentence into frames of the
// prior. The Speaker turns frames into samples. Const after construction.
#pragma once

#include "families/network_stage.h"
#include "families/piper/network.h"

namespace syrinx::piper {

/// A step reads a sentence: ids -> frames per id -> rows [T, C], drawn with the request's noise and
/// written to the sequence (State). The step has one row per id, and nothing is cached. Its value
/// is the number of frames, or NaN if the network's durations are NaN.
class Reader : public NetworkStage {
 public:
  explicit Reader(const Network& network);
  size_t scratch_bytes(int emits) const override { return emits * sizeof(float); }
  void forward(StepContext& ctx, const ArBatch& batch, View hidden) const override;
  void logits(StepContext& ctx, int k, const ArBatch& batch, View hidden, View codes,
              View out) const override;
  void values(StepContext& ctx, const ArBatch& batch, View hidden, View codes,
              View out) const override;

 private:
  const Network& network_;
};

/// Turns each latent row [C] into the samples of a frame. A stream passes all arrived frames to its
/// network, lookahead included, so each frame is computed once.
class Speaker : public ChunkStage {
 public:
  explicit Speaker(const Network& network) : network_(network) {}
  Device device() const override { return network_.device(); }
  FrameType in() const override { return {Flow::kRows, static_cast<int>(network_.latent())}; }
  FrameType out() const override { return {Flow::kSamples, static_cast<int>(network_.hop())}; }
  Bundle bundle(const Sequence& sequence) const override;
  std::unique_ptr<StreamState> open(Bundle bundle) const override;
  void run(StepContext& ctx, std::span<ChunkJob> jobs) const override;

 private:
  struct Stream;
  const Network& network_;
};

}  // namespace syrinx::piper
