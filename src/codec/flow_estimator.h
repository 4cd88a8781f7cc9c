// What the estimators of the S3 flow have in common. An estimator computes in which direction a
// noisy mel should move. It runs for B branches side by side, conditioned and mostly also not, at
// every step of the solver; each step and branch has a past of its own (convolutions here, keys and
// values in S3FlowPages). Attention sees whole chunks, or all of an utterance that comes as one.
//
// With S3FlowConfig::recent the past that attention sees is bounded, as Step-Audio 2's authors cut
// their cache (Step-Audio2:token2wav.py, stream()): they keep its first frames, as many as the
// prompt has, and its last `recent` ones. Their cache has the latest chunk in front, so what stays
// is the latest frames in the number of the prompt's, and the prompt's end.
// Const after construction, shared by threads; a state is used by one call at a time.
// F frames of a chunk, B branches (S3FlowConfig::branches).
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
    int64_t frames = 0;  ///< done by all steps
    int64_t rows = 0;    ///< frames whose keys and values are there
    bool whole = false;  ///< there is one chunk: keys and values are of one layer at a time
    // For a bounded past:
    int64_t prompt = 0;          ///< frames of the first chunk
    std::vector<int32_t> order;  ///< the rows, those of the latest chunk first
    State clone() const;
  };

  virtual ~FlowEstimator() = default;
  int64_t in() const { return 4 * config_.mel; }
  virtual State open(bool whole = false) const = 0;
  /// Makes room for `frames` more frames: before step 0 of a chunk.
  void begin(int64_t frames, State& state) const;
  /// x [B F, in()], all branches -> out [B F, mel]. Steps 0, 1, ... of a chunk in turn.
  virtual void run(StepContext& ctx, int64_t step, const View& x, State& state,
                   const View& out) const = 0;
  /// After the last step of a chunk of `frames`.
  void end(int64_t frames, State& state) const;
  virtual size_t bytes() const = 0;
  /// Memory of KvPool::kPageRows frames of an open stream.
  size_t bytes_per_group() const { return pages_->group_bytes(); }

 protected:
  struct Network {
    int64_t heads = 0, dim = 0;  ///< of attention
    int64_t layers = 0;          ///< of attention
    int64_t convs = 0;           ///< of a step and branch
  };
  /// One evaluation: where it stands in the state's lists.
  struct Call {
    State& state;
    int64_t step, frames;
    int64_t conv = 0, layer = 0;
  };

  static constexpr int64_t kMostBranches = 2;

  explicit FlowEstimator(const S3FlowConfig& config) : config_(config) {}
  /// Once the network is known.
  void hold(const Network& network, WeightType type, int64_t max_frames);
  /// The next convolution, of all branches.
  void convolve(StepContext& ctx, const CausalConv1d& conv, Call& call, const View& x,
                const View& out) const;
  /// Attention of the next layer. q, k, v of B F rows; mixed [B F, heads * dim].
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
