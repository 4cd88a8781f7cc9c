// HiFT, a neural source-filter vocoder that ends in an inverse STFT: frames of mel to samples. Its
// layers also depend on later frames; in the causal form, only the first layers do. Therefore the
// output lags behind the input by lookahead() frames, the network's right context. At the
// end of a stream, run() computes the remaining samples with the original's zero padding. A
// stream's state keeps what later frames need, so nothing is computed twice. A stream has the same
// bits for any division into calls. Source: CosyVoice:cosyvoice/hifigan/{generator,f0_predictor}.py
// (HiFTGenerator, CausalHiFTGenerator). Const after construction, shared by threads; a state is
// used by one call at a time. T frames, M mel bands; activations f32 [time, channels].
#pragma once

#include <memory>
#include <vector>

#include "codec/hift_source.h"
#include "kernels/fft.h"
#include "kernels/linear.h"
#include "nn/row_queue.h"

namespace syrinx {

/// Sizes of the published 24 kHz vocoder. The hop is the product of the rates and the STFT's hop.
struct HiftConfig {
  int64_t mel = 80;
  int64_t channels = 512;     ///< channels after the first convolution; upsamplings halve them
  int64_t f0_channels = 512;  ///< channels of the network that predicts the pitch
  std::vector<int64_t> rates{8, 5, 3}, rate_kernels{16, 11, 7};
  std::vector<int64_t> kernels{3, 7, 11};         ///< taps of the residual blocks of each stage
  std::vector<int64_t> source_kernels{7, 7, 11};  ///< taps of the source's block of each stage
  std::vector<int64_t> dilations{1, 3, 5};
  int64_t n_fft = 16, stft_hop = 4;
  float leak = 0.1f;    ///< slope of the leaky ReLUs before upsampling
  float limit = 0.99f;  ///< largest magnitude of a sample
  /// Whether the vocoder is causal. Then the first convolution depends on `look_right` later
  /// frames, and the first convolution of the pitch predictor on 3. No other layer depends on later
  /// frames, except through the STFT's window.
  bool causal = false;
  int64_t look_right = 4;
  HiftSourceConfig source;

  int64_t hop() const;
};

class Hift;

/// State of one stream between calls.
class HiftState {
 public:
  HiftState(HiftState&&) = default;
  HiftState& operator=(HiftState&&) = default;

 private:
  friend class Hift;
  HiftState() = default;
  struct Block {
    std::vector<ConvState> convs;
    std::vector<RowQueue> waiting;  // residual inputs that wait until their branch yields rows
  };
  struct Stage {
    ConvState up;
    ConvState down;
    Block source;
    RowQueue up_rows, source_rows;
    std::vector<Block> blocks;
    std::vector<RowQueue> block_rows;
  };
  std::vector<ConvState> pitch_;
  HiftSource::State source_;
  std::vector<float> excitation_;  // excitation samples that later STFT windows need
  int64_t excited_ = 0;            // number of excitation samples before the STFT's next window
  bool analysing_ = false;         // whether the stream's beginning has been mirrored
  ConvState stft_, first_, last_;
  std::vector<Stage> stages_;
  RowQueue mirrored_;  // first row of the last stage, until the second row arrives
  bool mirror_done_ = false;
  std::vector<float> overlap_;
  int64_t trim_ = 0;  // samples that must still be dropped at the front
};

/// The vocoder with its weights.
class Hift {
 public:
  /// `weights` is the scope of the vocoder. With q8, convolutions are stored in bf16. The pitch
  /// predictor is always f32.
  Hift(const HiftConfig& config, const Weights& weights, WeightType type = WeightType::kF32);

  const HiftConfig& config() const { return config_; }
  /// Returns the frames of lookahead: frame t's samples are final once run() has received frame t
  /// + lookahead().
  int64_t lookahead() const { return lookahead_; }
  HiftState open(std::span<const float> phase_offset = {}) const;
  /// Processes mel [T, M] in host memory, and appends to `out` the samples that are now final.
  /// `last`: no frames follow. The call then appends all remaining samples of the stream (hop() a
  /// frame). The pitch, its excitation and the inverse STFT are computed on the CPU.
  void run(StepContext& ctx, const View& mel, bool last, const HiftNoise& noise, HiftState& state,
           std::vector<float>& out) const;
  /// Moves the filter, which is most of the work, to a GPU. The context of run() must then be of
  /// the GPU, and streams opened afterwards have their state there.
  void move_to(Device device);
  Device device() const { return first_.device(); }
  size_t bytes() const;

 private:
  struct Snake {
    Tensor alpha, inv_alpha;
  };
  struct Block {
    std::vector<CausalConv1d> convs;  // alternately dilated and plain
    std::vector<Snake> acts;          // one snake before each convolution
  };
  struct Stage {
    CausalConvTranspose1d up;
    CausalConv1d down;
    Block source;
    std::vector<Block> blocks;
  };

  CausalConv1d load_conv(const Weights& w, int64_t in, int64_t out, int64_t taps, int64_t dilation,
                         WeightType type) const;
  CausalConvTranspose1d load_up(const Weights& w, int64_t in, size_t stage, WeightType type) const;
  Block load_block(const Weights& weights, int64_t channels, int64_t taps, WeightType type) const;
  void load_stages(const Weights& weights, WeightType type);
  HiftState::Block open(const Block& block, int64_t channels) const;
  void move_to(Device device, Block& block) const;
  int64_t certain_samples(int64_t frames) const;
  int64_t certain(const Block& block, int64_t rows) const;

  void run_piece(StepContext& ctx, const View& mel, bool last, const HiftNoise& noise,
                 HiftState& state, std::vector<float>& out) const;
  View run_block(StepContext& ctx, const Block& block, const View& x, bool last,
                 HiftState::Block& state) const;
  void excite(StepContext& ctx, const View& mel, bool last, const HiftNoise& noise,
              HiftState& state) const;
  View analyse(StepContext& ctx, bool last, HiftState& state) const;
  View run_stage(StepContext& ctx, size_t index, const View& x, const View& spectrum, bool last,
                 HiftState& state) const;
  View mirror(StepContext& ctx, const View& x, HiftState& state) const;
  void synthesise(StepContext& ctx, const View& x, bool last, HiftState& state,
                  std::vector<float>& out) const;

  HiftConfig config_;
  int64_t lookahead_ = 0;
  std::vector<CausalConv1d> pitch_;
  PackedLinear pitch_out_;
  HiftSource source_;
  CausalConv1d stft_, first_, last_;
  std::vector<Stage> stages_;
  InverseStft istft_;
};

}  // namespace syrinx
