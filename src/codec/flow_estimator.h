// Common base of the estimators of the S3 flow. An estimator computes the direction in which a
// noisy mel should move. It runs for B branches in parallel (conditioned and, in most models,
// unconditioned) at every step of the solver. Each step and branch has its own past: convolutions
// in the state, keys and values in S3FlowPages. Attention covers whole chunks, or a whole
// utterance.
//
// S3FlowConfig::recent limits the past to which attention attends, in the way in which the
// authors of Step-Audio 2 cut their cache (Step-Audio2:token2wav.py, stream()). Their cache
// has the latest chunk first and the prompt last. They keep its first frames, as many as the
// prompt has, and its last `recent` frames. Const after construction, shared by threads; a
// state is used by one call at a time. F frames of a chunk, B branches
// (S3FlowConfig::branches).
#pragma once

#include <memory>
#include <vector>

#include "codec/s3_flow_config.h"
#include "codec/s3_flow_pages.h"
#include "kernels/linear.h"
#include "nn/conv.h"

namespace syrinx {

class FlowEstimator {
 public:
  struct State {
    std::vector<ConvState> convs;  ///< [step][branch][layer]
    std::vector<S3FlowPages::Group> groups;
    int64_t frames = 0;  ///< frames for which all steps have run
    int64_t rows = 0;    ///< frames whose keys and values are stored
    bool whole = false;  ///< the utterance is one chunk; all layers then share one set of pages
    // Used only with a bounded past:
    int64_t prompt = 0;          ///< frames of the first chunk
    std::vector<int32_t> order;  ///< the stored rows, the latest chunk first
    State clone() const;
  };

  virtual ~FlowEstimator() = default;
  int64_t in() const { return 4 * config_.mel; }
  virtual State open(bool whole = false) const = 0;
  /// Makes space for `frames` more frames. Call it before step 0 of a chunk.
  void begin(int64_t frames, State& state) const;
  /// Runs step `step` for all branches: x [B F, in()] -> out [B F, mel]. The steps of a chunk must
  /// run in order, from 0.
  virtual void run(StepContext& ctx, int64_t step, const View& x, State& state,
                   const View& out) const = 0;
  /// Ends a chunk of `frames` frames. Call it after the last step of the chunk.
  void end(int64_t frames, State& state) const;
  virtual size_t bytes() const = 0;
  /// Returns the size in bytes of KvPool::kPageRows frames of an open stream.
  size_t bytes_per_group() const { return pages_->group_bytes(); }

 protected:
  struct Network {
    int64_t heads = 0, dim = 0;  ///< number and size of the attention heads
    int64_t layers = 0;          ///< number of layers with attention
    int64_t convs = 0;           ///< number of convolutions per step and branch
  };
  /// One evaluation of the network, with indices into the lists of the state.
  struct Call {
    State& state;
    int64_t step, frames;
    int64_t conv = 0, layer = 0;
  };

  static constexpr int64_t kMostBranches = 2;

  explicit FlowEstimator(const S3FlowConfig& config) : config_(config) {}
  /// Allocates pages and copies the sizes. Call it when the network's sizes are known.
  void hold(const Network& network, WeightType type, int64_t max_frames);
  /// Runs the next convolution for all branches.
  void convolve(StepContext& ctx, const CausalConv1d& conv, Call& call, const View& x,
                const View& out) const;
  /// Runs the attention of the next layer. q, k, v have B F rows; mixed [B F, heads * dim].
  void attend(StepContext& ctx, Call& call, const HeadsView& q, const HeadsView& k,
              const HeadsView& v, const View& mixed) const;

  S3FlowConfig config_;

 private:
  View page_table(StepContext& ctx, const Call& call) const;
  void forget(State& state) const;

  Network network_;
  std::shared_ptr<S3FlowPages> pages_;
};

}  // namespace syrinx
