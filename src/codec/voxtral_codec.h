// The decoder of Voxtral's codec: frames of codes to samples. A frame has a code of a table and a
// number of codes that are rounded numbers. Causal convolutions that multiply the rate alternate
// with causal transformers, whose windows are short and whose scores get slopes (ALiBi). The last
// convolution makes rows of `patch` samples. A stream has the same bits for any division into
// chunks, and does not depend on the other streams of a call. Const after construction, shared by
// threads; a state is used by one call at a time. Layout and names:
// vllm-omni:vllm_omni/model_executor/models/voxtral_tts/voxtral_tts_audio_tokenizer.py. T frames,
// A codes after the first of a frame, V choices of the first code, L levels of the others.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "codec/codec_pass.h"
#include "io/json.h"
#include "io/weights.h"

namespace syrinx {

/// Settings of the codec: "audio_tokenizer_args" of params.json. Plain data, checked when read.
struct VoxtralCodecConfig {
  /// A convolution and the transformer after it.
  struct Stage {
    /// If both are 1, the stage has no convolution, unless it is the first one.
    int64_t taps = 1, stride = 1;
    DecoderConfig net;
  };

  int64_t sample_rate = 24000;                       ///< Hz
  int64_t codebooks = 37;                            ///< 1 + A
  int64_t codebook_size = 8192, codebook_dim = 256;  ///< V; width of its table
  int64_t levels = 21;                               ///< L
  int64_t width = 1024;                              ///< channels of all stages
  int64_t patch = 240, patch_taps = 7;  ///< samples of a row; taps of the last convolution
  std::vector<Stage> stages;

  int64_t acoustic() const { return codebooks - 1; }            ///< returns A
  int64_t latent() const { return codebook_dim + acoustic(); }  ///< returns the width of a frame
  int64_t rate() const;                           ///< returns the number of patches in a frame
  int64_t hop() const { return rate() * patch; }  ///< returns the samples of a frame
  /// Throws LoadError for values that are missing, contradictory or unsupported.
  static VoxtralCodecConfig load(const Config& config);
};

/// Converts codes to samples.
class VoxtralCodec {
 public:
  /// Loads "decoder_blocks.", "output_proj." and "quantizer." from `weights`.
  VoxtralCodec(const VoxtralCodecConfig& config, const Weights& weights,
               WeightType type = WeightType::kF32);

  const VoxtralCodecConfig& config() const { return config_; }
  CodecState open() const;
  /// Decodes frames of a code in [0, V), then A codes in [0, L), to samples in about [-1, 1], not
  /// clipped. On a GPU, the samples are ready after synchronize(). Throws InternalError for a code
  /// that is out of range.
  void run(StepContext& ctx, std::span<const CodecJob> jobs) const;
  /// Moves the network to a GPU. Streams opened afterwards are on the GPU.
  void move_to(Device device);
  Device device() const { return first_.device(); }
  size_t bytes() const;

 private:
  static constexpr int64_t kPassFrames = 8;  // frames per pass, over all streams; limits the memory

  void load_table(const Weights& weights);
  View dequantise(StepContext& ctx, std::span<const CodecJob> jobs, const CodecPass& pass) const;

  VoxtralCodecConfig config_;
  Tensor table_;  // [V, codebook_dim]
  CausalConv1d first_, last_;
  std::vector<CausalConvTranspose1d> raises_;  // one per stage after the first; each may be empty
  std::vector<StreamDecoder> nets_;            // one per stage
};

}  // namespace syrinx
