// The flow's estimator: a causal U-Net of one level with transformer blocks, which tells in which
// direction a noisy mel should move. It runs for two branches side by side, conditioned and not, at
// every step of the solver; each step and branch has a past of its own (convolutions here, keys and
// values in S3FlowPages). Attention sees whole chunks, or all of an utterance that comes as one.
// Source: CosyVoice:cosyvoice/flow/decoder.py (CausalConditionalDecoder), Matcha-TTS.
// Const after construction, shared by threads; a state is used by one call at a time.
// F frames of a chunk, C channels.
#pragma once

#include <vector>

#include "codec/s3_flow_config.h"
#include "codec/s3_flow_pages.h"
#include "nn/conv.h"
#include "nn/layers.h"

namespace syrinx {

class S3FlowEstimator {
 public:
  static constexpr int64_t kBranches = 2;

  struct State {
    std::vector<ConvState> convs;  ///< [step][branch][layer]
    std::vector<S3FlowPages::Group> groups;
    int64_t frames = 0;  ///< done by all steps
    bool whole = false;  ///< there is one chunk: keys and values are of one layer at a time
    State clone() const;
  };

  /// `weights`: the scope "decoder.estimator"; `times`: at which step s evaluates, in [0, 1].
  S3FlowEstimator(const S3FlowConfig& config, const Weights& weights, std::span<const float> times,
                  WeightType type, int64_t max_frames);

  int64_t in() const { return 4 * config_.mel; }
  State open(bool whole = false) const;
  /// Makes room for `frames` more frames: before step 0 of a chunk.
  void begin(int64_t frames, State& state) const;
  /// x [2 F, in()], both branches -> out [2 F, mel]. Steps 0, 1, ... of a chunk in turn; after the
  /// last, add F to state.frames.
  void run(StepContext& ctx, int64_t step, const View& x, State& state, const View& out) const;
  size_t bytes() const;
  /// Memory of a second (50 frames) of an open stream.
  size_t bytes_per_group() const { return pages_->group_bytes(); }

 private:
  struct Half {
    CausalConv1d conv;
    LayerNorm norm;
  };
  struct Resnet {
    Half first, second;
    PackedLinear residual;
    Tensor time;  ///< [steps, C], added between the halves
  };
  struct Transformer {
    LayerNorm before_attention, before_mlp;
    PackedLinear qkv, out, up, down;
  };
  struct Section {
    Resnet resnet;
    std::vector<Transformer> blocks;
    CausalConv1d conv;  ///< of the first and the last section
    bool has_conv = false;
  };
  struct Call;

  Half load_half(const Weights& weights, int64_t in, WeightType type) const;
  Section load_section(const Weights& weights, int64_t in, bool conv, const View& time,
                       WeightType type) const;
  View embed_times(const Weights& weights, std::span<const float> times, StepContext& ctx) const;
  void convolve(StepContext& ctx, const CausalConv1d& conv, Call& call, const View& x,
                const View& out) const;
  View run_half(StepContext& ctx, const Half& half, Call& call, const View& x) const;
  View run_section(StepContext& ctx, const Section& section, Call& call, const View& x,
                   View* skip) const;
  View page_table(StepContext& ctx, const Call& call) const;
  void transform(StepContext& ctx, const Transformer& block, Call& call, const View& x) const;

  S3FlowConfig config_;
  std::vector<Section> sections_;
  Half last_;
  PackedLinear out_;
  int64_t convs_ = 0, layers_ = 0;  // of the network
  std::shared_ptr<S3FlowPages> pages_;
};

}  // namespace syrinx
