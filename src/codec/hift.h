// HiFT, a neural source-filter vocoder that ends in an inverse STFT: frames of mel to samples. Its
// layers also depend on later frames; in the causal form, only the first layers do. Therefore the
// output lags behind the input by lookahead() frames, the network's right context. At the
// end of a stream, run() computes the remaining samples with the original's zero padding. A
// stream's state keeps what later frames need, so nothing is computed twice. A stream has the same
// bits for any division into calls, and does not depend on the other streams of a call. Source:
// CosyVoice:cosyvoice/hifigan/{generator,f0_predictor}.py (HiFTGenerator, CausalHiFTGenerator).
// Const after construction, shared by threads; a state is used by one call at a time. T frames, M
// mel bands; activations f32 [time, channels].
#pragma once

#include <memory>
#include <vector>

#include "codec/hift_source.h"
#include "kernels/fft.h"
#include "kernels/linear.h"
#include "nn/row_queue.h"
#include "nn/row_stack.h"

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

/// One stream's part of a call.
struct HiftJob {
  HiftState* state = nullptr;
  View mel;                           ///< [T, M] in host memory
  bool last = false;                  ///< no frames follow
  HiftNoise noise = {};               ///< the noise of the stream
  std::vector<float>* out = nullptr;  ///< the samples that are now final are appended
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
  /// Processes the jobs, each stream at most once. The last call of a stream appends all of its
  /// remaining samples (hop() a frame). The pitch, its excitation and the inverse STFT are computed
  /// on the CPU.
  void run(StepContext& ctx, std::span<const HiftJob> jobs) const;
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

  /// Some frames of one stream, to be run in one pass.
  struct Part {
    const HiftJob* job = nullptr;
    View mel;
    bool last = false;
    HiftState& state() const { return *job->state; }
  };
  using Parts = std::span<const Part>;

  void run_pass(StepContext& ctx, Parts parts) const;
  /// Runs `conv` on the rows of all parts. state_of(state) returns a part's ConvState.
  template <typename Conv, typename StateOf>
  RowStack convolve(StepContext& ctx, Parts parts, const Conv& conv, const RowStack& x,
                    const StateOf& state_of) const;
  template <typename StateOf>
  RowStack run_block(StepContext& ctx, Parts parts, const Block& block, const RowStack& x,
                     const StateOf& state_of) const;
  void excite(StepContext& ctx, const Part& part) const;
  std::span<const float> mirrored_source(StepContext& ctx, const Part& part) const;
  RowStack analyse(StepContext& ctx, Parts parts) const;
  RowStack run_stage(StepContext& ctx, Parts parts, size_t index, const RowStack& x,
                     const RowStack& spectrum) const;
  RowStack mirror(StepContext& ctx, Parts parts, const RowStack& x) const;
  void synthesise(StepContext& ctx, const Part& part, const View& spectrum) const;

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
