// The speaker encoder of Base checkpoints: an ECAPA-TDNN over a mel spectrogram. It turns a
// recording into a vector (an "x-vector") with the width of the talker. Const after
// construction, shared by threads. Source:
// Qwen3-TTS:qwen_tts/core/models/modeling_qwen3_tts.py (Qwen3TTSSpeakerEncoder,
// mel_spectrogram). T: mel frames. C: channels.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "audio/mel.h"
#include "base/pieces.h"
#include "families/qwen3_tts/config.h"
#include "io/weights.h"
#include "kernels/conv.h"
#include "kernels/linear.h"

namespace syrinx::qwen3_tts {

class SpeakerEncoder {
 public:
  /// Loads the layers from `weights`, the scope "speaker_encoder". All weights stay f32.
  SpeakerEncoder(const SpeakerConfig& config, const Weights& weights);

  int sample_rate() const { return mel_.options().sample_rate; }
  /// Number of samples of the shortest recording that can be encoded.
  static constexpr int64_t kLeastSamples = 4096;
  /// Encodes mono samples at sample_rate() into a vector, in pieces that use the context in `ctx`
  /// while they run. Encoder, samples, vector and `ctx` itself must outlive the pieces.
  Pieces run(StepContext* const& ctx, std::span<const float> samples,
             std::vector<float>& vector) const;

  size_t bytes() const;

 private:
  /// A convolution that keeps the length, with mirrored ends, and a ReLU after it.
  struct Layer {
    PackedConv1d conv;
    int64_t dilation = 1;
  };
  struct Block {
    Layer first, last;
    std::vector<Layer> parts;  // Res2Net: part i also reads the output of part i - 1
    PackedLinear squeeze, excite;
  };

  Layer load(const Weights& weights, int64_t in, int64_t out, int64_t taps, int64_t dilation) const;
  /// Computes a layer: x [T, C] -> out [T, O].
  Pieces layer(StepContext* const& ctx, const Layer& layer, const Tensor& x, Tensor& out) const;
  Pieces block(StepContext* const& ctx, const Block& block, Tensor& x) const;
  /// Computes attentive statistics: x [T, C] -> mean and standard deviation of each channel, [2 C].
  Pieces pool(StepContext* const& ctx, const Tensor& x, Tensor& stats) const;

  SpeakerConfig config_;
  MelSpectrogram mel_;
  Layer head_, merge_;
  std::vector<Block> blocks_;
  // The attention reads each frame beside the mean and the deviation of all frames.
  PackedLinear attend_frame_, attend_all_, attend_;
  PackedLinear out_;
};

}  // namespace syrinx::qwen3_tts
