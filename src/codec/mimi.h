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

#include "codec/mimi_config.h"
#include "io/weights.h"
#include "nn/stream_decoder.h"
#include "nn/stream_pass.h"

namespace syrinx {

/// State of one stream between calls: the past of every convolution, and the keys and values of the
/// last window.
class MimiState {
 public:
  int64_t frames() const { return frames_; }

 private:
  friend class MimiLatentDecoder;
  int64_t frames_ = 0;  // frames decoded so far
  StreamKv kv_;
  std::vector<ConvState> convs_;  // in the order of the network
};

/// Input and output of one stream in one call.
struct MimiJob {
  MimiState* state = nullptr;
  std::span<const int32_t> codes;  ///< [T, Q], each in [0, V)
  std::span<float> out;            ///< [T * hop], output; in about [-1, 1], not clipped
};

/// A residual unit of SEANet: x + conv1(elu(conv(elu(x)))), in place.
struct MimiResidualUnit {
  CausalConv1d conv;  // C -> C / compress, dilated
  PackedLinear mix;   // C / compress -> C
};

/// The output of one stream in one call.
struct MimiOutput {
  MimiState* state = nullptr;
  int64_t frames = 0;    ///< T: number of frames
  std::span<float> out;  ///< [T * hop], output; in about [-1, 1], not clipped
};

/// Decodes rows of the latent to samples: the layers after the quantizer.
class MimiLatentDecoder {
 public:
  /// Makes the latent rows [frames, H] of the parts of a pass, in the arena.
  using Latents = FunctionRef<View(std::span<const PassPart> parts)>;

  MimiLatentDecoder() = default;
  /// `weights` is the scope that contains the upsampling, "decoder_transformer." and "decoder.".
  /// The matrices are stored as `type` (convolutions: bf16 instead of 8 bits).
  MimiLatentDecoder(const MimiConfig& config, const Weights& weights, WeightType type);

  const MimiConfig& config() const { return config_; }
  MimiState open() const;
  /// Runs the layers. On a GPU, the samples are ready after synchronize().
  void run(StepContext& ctx, std::span<const MimiOutput> jobs, Latents latents) const;

  void move_to(Device device);
  Device device() const { return head_.device(); }
  size_t bytes() const;
  size_t state_bytes() const;

 private:
  struct Block {
    CausalConvTranspose1d up;
    std::vector<MimiResidualUnit> units;
  };
  void run_pass(StepContext& ctx, std::span<const MimiOutput> jobs, std::span<const PassPart> parts,
                const View& latent) const;

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
  MimiState open() const { return network_.open(); }
  /// Decodes the frames of every job. On a GPU, the samples are ready after synchronize(). Throws
  /// InternalError for a code outside [0, V).
  void run(StepContext& ctx, std::span<const MimiJob> jobs) const;

  /// Moves the network to a GPU. Streams opened afterwards are on the GPU.
  void move_to(Device device);
  Device device() const { return network_.device(); }
  size_t bytes() const;
  /// Returns the size in bytes of an open stream's state.
  size_t state_bytes() const { return network_.state_bytes(); }

 private:
  /// Returns the latent rows [frames, H] of the codes.
  View dequantise(StepContext& ctx, std::span<const MimiJob> jobs,
                  std::span<const PassPart> parts) const;

  std::vector<Tensor> codebooks_;  // Q tensors [V, D]
  std::vector<View> tables_;       // views of codebooks_
  PackedLinear semantic_out_, acoustic_out_;
  MimiLatentDecoder network_;
};

}  // namespace syrinx
