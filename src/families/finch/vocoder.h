// The chunk stage of finch: turns each frame of codes and symbols into 40 ms of samples, and the
// last frame of a stream into 10 ms. It has a ConvNeXt trunk at 25 and 100 steps a second, then a
// source-filter head. Its first layer reads one frame before and one after: the left context and
// lookahead of the edge. All other layers are causal, with their state in the stream. Const after
// load.
#pragma once

#include <vector>

#include "families/finch/config.h"
#include "families/finch/source.h"
#include "families/finch/speakers.h"
#include "io/weights.h"
#include "model/stage.h"
#include "nn/conv.h"
#include "nn/layers.h"

namespace syrinx::finch {

inline constexpr int kStepsPerFrame = 4;
/// Steps of a stream's last frame. Without a shorter last frame, all speech would have whole 40 ms.
/// A judge that repeats short speech and reads it on a grid of 40 ms, like DNSMOS, would then
/// always meet the same places, and its score would be too low (training/README.md).
inline constexpr int kLastSteps = 1;

/// Computes x + down(silu(up(norm(depthwise(x))))). Loads conv, norm, up and down.
class ResidualConv {
 public:
  ResidualConv(const Weights& weights, int width, int ffn, int taps, WeightType type);
  ConvState open() const { return conv_.open(); }
  /// Changes x [N, width], the rows of all streams, in place. rows[j] rows belong to states[j].
  void run(StepContext& ctx, const View& x, std::span<const int64_t> rows,
           std::span<ConvState* const> states) const;
  size_t bytes() const { return conv_.bytes() + up_.bytes() + down_.bytes(); }

 private:
  CausalConv1d conv_;
  RmsNorm norm_;
  PackedLinear up_, down_;
};

/// The network with its weights.
class Vocoder : public ChunkStage {
 public:
  /// Loads book.K, phone.K, inp, low.N, up, high.N, norm, tone and head from `weights`.
  Vocoder(const FinchConfig& config, const Weights& weights, WeightType type);

  FrameType in() const override { return {Flow::kCodes, kFrameWidth}; }
  FrameType out() const override { return {Flow::kSamples, source_.shape().hop}; }
  int most_out() const override { return kStepsPerFrame; }
  Bundle bundle(const Sequence& sequence) const override;
  std::unique_ptr<StreamState> open(Bundle bundle) const override;
  void run(StepContext& ctx, std::span<ChunkJob> jobs) const override;
  size_t bytes() const;

 private:
  struct Stream;
  void gather(const ChunkJob& job, float* features, float* out) const;
  void features(const int32_t* frame, float* out) const;
  static void add_rows(std::span<const ChunkJob> jobs, std::vector<float> Stream::*row, int steps,
                       const View& x);
  void trunk(StepContext& ctx, std::span<ChunkJob> jobs, const View& low, const View& high) const;
  void speak(StepContext& ctx, std::span<ChunkJob> jobs, const View& hidden) const;

  FinchConfig config_;
  std::vector<Tensor> books_, phones_;  // f32 [codes, latent], [symbols, latent]
  PackedLinear inp_, up_, tone_, head_;
  std::vector<ResidualConv> low_, high_;
  RmsNorm norm_;
  Source source_;
};

}  // namespace syrinx::finch
