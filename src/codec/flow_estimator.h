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
    ConvStates convs;  ///< [step][branch][layer]
    std::vector<S3FlowPages::Group> groups;
    int64_t frames = 0;  ///< frames for which all steps have run
    int64_t rows = 0;    ///< frames whose keys and values are stored
    bool whole = false;  ///< the utterance is one chunk; all layers then share one set of pages
    // Used only with a bounded past:
    int64_t prompt = 0;          ///< frames of the first chunk
    std::vector<int32_t> order;  ///< the stored rows, the latest chunk first
    /// Copies the state. No kernel may be writing it.
    State clone() const;
  };
  /// The next frames of a stream.
  struct Job {
    State* state = nullptr;
    int64_t frames = 0;
  };
  /// The next chunks of several streams, in all steps. Frames of the streams are consecutive.
  class Chunks {
   private:
    friend class FlowEstimator;
    struct Part {
      Job job;
      int64_t begin = 0;  // number of frames of earlier parts
      std::span<ConvState> convs;
      std::vector<ConvState> copies;  // on a GPU: `convs`, in scratch memory
    };
    std::vector<Part> parts_;
    int64_t frames_ = 0;
    View pasts_;  // on a GPU: memory of all `copies`
    std::vector<int32_t> row_begin_, kv_len_, table_;
    Ragged ragged_;
  };

  virtual ~FlowEstimator() = default;
  int64_t in() const { return 4 * config_.mel; }
  State open(bool whole = false) const;
  /// Makes space for the frames of the jobs. Call it before step 0. Streams that are `whole` run
  /// alone. The scratch memory of ctx is in use until end().
  Chunks begin(StepContext& ctx, std::span<const Job> jobs) const;
  /// Runs step `step` for all branches: x [B F, in()] -> out [B F, mel], F frames of all streams.
  /// The steps must run in order, from 0.
  virtual void run(StepContext& ctx, const Chunks& chunks, int64_t step, const View& x,
                   const View& out) const = 0;
  /// Ends the chunks after their last step. Waits for the work on a GPU.
  void end(StepContext& ctx, Chunks& chunks) const;

  /// Moves the weights to a GPU, and reserves pages there. No stream may be open.
  void move_to(Device device);
  Device device() const { return pages_->device(); }
  virtual size_t bytes() const = 0;
  /// Returns the size in bytes of KvPool::kPageRows frames of an open stream.
  size_t bytes_per_group() const { return pages_->group_bytes(); }

 protected:
  struct Network {
    int64_t heads = 0, dim = 0;  ///< number and size of the attention heads
    int64_t layers = 0;          ///< number of layers with attention
  };
  /// One evaluation of the network, with indices of the next layers.
  struct Call {
    const Chunks& chunks;
    int64_t step;
    int64_t conv = 0, layer = 0;
  };

  explicit FlowEstimator(const S3FlowConfig& config) : config_(config) {}
  /// Returns the convolutions in the order in which a step runs them.
  virtual std::vector<const CausalConv1d*> convolutions() const = 0;
  virtual void move_weights(Device device) = 0;
  /// Allocates pages and copies the sizes. Call it when the network is complete.
  void hold(const Network& network, WeightType type, int64_t max_frames);
  /// Runs the next convolution for all branches.
  void convolve(StepContext& ctx, const CausalConv1d& conv, Call& call, const View& x,
                const View& out) const;
  /// Runs the attention of the next layer. q, k, v have B F rows; mixed [B F, heads * dim].
  void attend(StepContext& ctx, Call& call, const HeadsView& q, const HeadsView& k,
              const HeadsView& v, const View& mixed) const;
  /// Writes the positions of all B F rows to `out`.
  void positions(const Call& call, std::span<int32_t> out) const;

  S3FlowConfig config_;

 private:
  void hold_pages(State& state, int64_t frames) const;
  void list_pages(Chunks& chunks) const;
  void copy_pasts(StepContext& ctx, Chunks& chunks, bool back) const;
  void forget(StepContext& ctx, State& state) const;

  Network network_;
  int64_t convs_ = 0;  // number of convolutions of a step and branch
  std::shared_ptr<S3FlowPages> pages_;
};

}  // namespace syrinx
