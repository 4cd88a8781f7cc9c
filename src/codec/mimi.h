// The decoder of the Mimi speech codec: frames of Q codes, or the latent rows that codes represent,
// to samples. A state keeps everything that later frames of a stream need. A stream has the same
// bits for any division into chunks, and does not depend on the other streams of a call. Const
// after construction, shared by threads; a state is used by one call at a time. Layout and names:
// transformers' MimiModel. Q codebooks, V codes of each, hop samples a frame, T frames, H width of
// the latent; activations f32 [time, channels].
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "codec/codec_pass.h"
#include "codec/mimi_config.h"
#include "io/weights.h"

namespace syrinx {

/// A residual unit of SEANet: x + conv1(elu(conv(elu(x)))), in place.
struct MimiResidualUnit {
  CausalConv1d conv;  // C -> C / compress, dilated
  PackedLinear mix;   // C / compress -> C
};

/// Decodes rows of the latent to samples: the layers after the quantizer.
class MimiLatentDecoder {
 public:
  /// Makes the latent rows [frames, H] of a pass, in the arena.
  using Latents = FunctionRef<View(const CodecPass& pass)>;

  MimiLatentDecoder() = default;
  /// `weights` is the scope that contains the upsampling, "decoder_transformer." and "decoder.".
  /// The matrices are stored as `type` (convolutions: bf16 instead of 8 bits).
  MimiLatentDecoder(const MimiConfig& config, const Weights& weights, WeightType type);

  const MimiConfig& config() const { return config_; }
  CodecState open() const;
  /// Runs the layers. The samples are in about [-1, 1], not clipped. On a GPU, they are ready after
  /// synchronize().
  void run(StepContext& ctx, std::span<const FrameJob> jobs, Latents latents) const;

  void move_to(Device device);
  Device device() const { return head_.device(); }
  size_t bytes() const;

 private:
  struct Block {
    CausalConvTranspose1d up;
    std::vector<MimiResidualUnit> units;
  };
  View run_pass(StepContext& ctx, CodecPass& pass, const View& latent) const;

  MimiConfig config_;
  CausalConvTranspose1d upsample_;
  StreamDecoder transformer_;
  CausalConv1d head_, tail_;
  std::vector<Block> blocks_;
};

/// Decodes codes to samples.
class MimiDecoder {
 public:
  /// `weights` is the scope that contains "quantizer." and the tensors of MimiLatentDecoder.
  MimiDecoder(const MimiConfig& config, const Weights& weights, WeightType type = WeightType::kF32);

  const MimiConfig& config() const { return network_.config(); }
  CodecState open() const { return network_.open(); }
  /// Decodes the frames of every job. On a GPU, the samples are ready after synchronize(). Throws
  /// InternalError for a code outside [0, V).
  void run(StepContext& ctx, std::span<const CodecJob> jobs) const;

  /// Moves the network to a GPU. Streams opened afterwards are on the GPU.
  void move_to(Device device);
  Device device() const { return network_.device(); }
  size_t bytes() const;

 private:
  /// Returns the latent rows [frames, H] of the codes.
  View dequantise(StepContext& ctx, std::span<const CodecJob> jobs, const CodecPass& pass) const;

  std::vector<Tensor> codebooks_;  // Q tensors [V, D]
  std::vector<View> tables_;       // views of codebooks_
  PackedLinear semantic_out_, acoustic_out_;
  MimiLatentDecoder network_;
};

}  // namespace syrinx
