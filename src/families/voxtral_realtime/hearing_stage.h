// The ears of Voxtral Realtime as a chunk node: samples -> mel frames -> two causal convolutions ->
// a causal transformer with a sliding window -> `join` rows side by side through the projector ->
// one row for each token. A token needs a hop of samples after it. A stream takes hops in whole
// tokens; zeros fill up the last one. The bits of a stream do not depend on its division into
// chunks or on other streams of a batch. The silence before recordings is computed once. On a
// GPU, the mel is still computed by the host. E width of the encoder, H of the language model.
#pragma once

#include <algorithm>
#include <vector>

#include "base/remembered.h"
#include "families/voxtral_realtime/config.h"
#include "kernels/packed_matrix.h"
#include "model/graph.h"
#include "nn/conv.h"
#include "nn/layers.h"
#include "nn/stream_decoder.h"

namespace syrinx::voxtral_realtime {

class HearingStage : public ChunkStage {
 public:
  /// `weights`: the root scope of the checkpoint.
  HearingStage(const ModelConfig& config, const Weights& weights, WeightType type);

  /// Returns the policy. Its context is the hops on either side that a frame's window contains.
  ChunkPolicy policy() const;
  size_t bytes() const;
  /// Moves the weights. Streams opened afterwards have their state there, too.
  void move_to(Device device) { place_.move(device, conv1_, conv2_, blocks_, first_, second_); }
  Device device() const override { return place_.device(); }

  FrameType in() const override { return {Flow::kSamples, config_.mel.hop}; }
  FrameType out() const override { return {Flow::kRows, config_.lm.hidden}; }
  std::unique_ptr<StreamState> open(Bundle bundle) const override;
  void run(StepContext& ctx, std::span<ChunkJob> jobs) const override;
  int cut(const StreamState& state, const WaitingFrames& waiting, int planned) const override;

 private:
  struct HearingStream;
  struct Silence;
  /// Returns the tokens of silence whose rows do not depend on the recording after them.
  int64_t silent_tokens() const { return std::max(0, config_.left_pad - 1); }
  bool begins_silent(const ChunkJob& job) const;
  void mels(StepContext& ctx, const ChunkJob& job, int64_t from, const View& out) const;
  View project(StepContext& ctx, const View& x) const;

  ModelConfig config_;
  MelSpectrogram mel_;
  CausalConv1d conv1_, conv2_;
  StreamDecoder blocks_;
  PackedLinear first_, second_;  // [H, join * E], [H, H]
  WeightPlace place_;
  mutable Remembered<int, const Silence> silence_{size_t{1} << 30};  // one value, with key 0
};

}  // namespace syrinx::voxtral_realtime
