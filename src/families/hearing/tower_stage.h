// Qwen3-Omni's audio tower as the chunk stage of all families that have it. Turns samples at 16 kHz
// into rows, on the device of its arguments, which must outlive it. Const after construction,
// shared by threads.
#pragma once

#include "codec/qwen3_audio_tower.h"
#include "families/hearing/heard.h"
#include "model/graph.h"

namespace syrinx {

/// A frame is a chunk of the tower, one second. Each recording begins with a new frame, and its
/// last frame is filled with zeros. A window is computed in one piece. Rows of windows with known
/// keys come from the cache.
class TowerStage : public ChunkStage {
 public:
  /// `adaptor`: layer for the tower's rows; null means no layer.
  explicit TowerStage(const Qwen3AudioTower& tower, const PackedLinear* adaptor = nullptr)
      : tower_(tower), adaptor_(adaptor), before_(kHeardBeforeBytes) {}

  /// cut() chooses the chunks of a window. The mel of a window needs one more chunk on either side.
  static constexpr ChunkPolicy kPolicy{.initial = 1, .steady = 1, .left = 1, .lookahead = 1};
  Device device() const override { return tower_.device(); }
  FrameType in() const override;
  FrameType out() const override;
  int most_out() const override;
  /// `sequence` must be a Hearer.
  Bundle bundle(const Sequence& sequence) const override { return heard_bundle(sequence); }
  std::unique_ptr<StreamState> open(Bundle bundle) const override;
  void run(StepContext& ctx, std::span<ChunkJob> jobs) const override;
  int cut(const StreamState& stream, const WaitingFrames& waiting, int planned) const override;
  void follow(StreamState& stream, const ChunkJob& job) const override;
  /// Returns the number of frames of a recording of `samples` samples.
  int64_t frames(int64_t samples) const;

 private:
  void run(StepContext& ctx, ChunkJob& job) const;
  void encode(StepContext& ctx, const Qwen3AudioTower::Window& window, std::span<float> out) const;
  const Qwen3AudioTower& tower_;
  const PackedLinear* adaptor_;
  mutable HeardBefore before_;  // cached rows of windows
};

}  // namespace syrinx
