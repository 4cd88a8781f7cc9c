// The encoder of the Mimi speech codec: samples to frames of the latent, or to frames of Q codes.
// Encoding a recording whole or piece by piece gives the same codes. Const after construction,
// shared by threads. Each call has its own StepContext, and a stream is used by one call at a time.
// Layout, names and codes: transformers' MimiModel. Q codebooks, V codes of each, hop samples a
// frame, T frames, H width of the latent; activations f32 [time, channels].
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "codec/mimi.h"
#include "codec/residual_quantizer.h"

namespace syrinx {

/// Encodes samples to the latent: the layers before the quantizer.
class MimiLatentEncoder {
 public:
  /// State of one recording between two pieces.
  struct Stream {
    std::vector<ConvState> convs;  // in the order of the network
    StreamKv kv;
  };
  MimiLatentEncoder() = default;
  /// `weights` is the scope that contains "encoder.", "encoder_transformer." and the downsampling.
  /// All weights are f32, because fewer bits would select other codes.
  MimiLatentEncoder(const MimiConfig& config, const Weights& weights);

  const MimiConfig& config() const { return config_; }
  /// Returns T, the number of frames; an incomplete frame at the end counts.
  int64_t frames(int64_t samples) const { return (samples + config_.hop() - 1) / config_.hop(); }
  Stream open() const;
  /// Returns the limit of frames of the next piece, at least 1. Call it before each piece.
  int64_t room(StepContext& ctx, Stream& stream) const;
  /// Encodes the next piece, mono at config().sample_rate, to [frames, MimiConfig::encoded] in the
  /// arena. A piece has whole frames; only the last one of a recording may end within a frame.
  View run(StepContext& ctx, Stream& stream, std::span<const float> samples) const;
  /// Moves the weights to a GPU. Streams opened afterwards are on the GPU, too.
  void move_to(Device device);
  Device device() const { return head_.device(); }
  size_t bytes() const;

 private:
  struct Block {
    std::vector<MimiResidualUnit> units;
    CausalConv1d down;
    int64_t stride = 1;
  };
  MimiConfig config_;
  CausalConv1d head_, tail_, downsample_;
  std::vector<Block> blocks_;
  StreamDecoder transformer_;
};

/// Encodes samples to codes.
class MimiEncoder {
 public:
  using Stream = MimiLatentEncoder::Stream;
  /// `weights` is the scope that contains "quantizer." and the tensors of MimiLatentEncoder.
  MimiEncoder(const MimiConfig& config, const Weights& weights);

  const MimiConfig& config() const { return network_.config(); }
  int64_t frames(int64_t samples) const { return network_.frames(samples); }
  /// Encodes mono samples at config().sample_rate, in about [-1, 1], to codes [T, Q]. Only the
  /// memory of the codes grows with the recording.
  std::vector<int32_t> encode(StepContext& ctx, std::span<const float> samples) const;

  Stream open() const { return network_.open(); }
  /// Returns the limit of frames of the next piece, at least 1. Call it before each piece.
  int64_t room(StepContext& ctx, Stream& stream) const { return network_.room(ctx, stream); }
  /// Encodes the next piece, cut as for MimiLatentEncoder::run(), to codes [frames, Q] i32 on
  /// device().
  void run(StepContext& ctx, Stream& stream, std::span<const float> samples,
           const View& codes) const;
  /// Does the same; the codes in host memory are complete when it returns.
  void run(StepContext& ctx, Stream& stream, std::span<const float> samples,
           std::span<int32_t> codes) const;

  /// Moves the weights to a GPU. Streams opened afterwards are on the GPU, too.
  void move_to(Device device);
  Device device() const { return network_.device(); }
  size_t bytes() const;

 private:
  /// One of the two residual quantizers: codebooks from `first` on.
  struct Quantizer {
    int64_t first = 0;
    PackedLinear in;           // H -> D
    ResidualQuantizer stages;  // entries [V, D]
  };

  Quantizer load_quantizer(const Weights& weights, bool semantic) const;

  MimiLatentEncoder network_;
  Quantizer semantic_, acoustic_;
};

}  // namespace syrinx
