// Runs causal networks over many streams at once. A pass is a few frames of several streams,
// concatenated in one matrix [rows, channels]; every layer runs over the whole matrix. The streams
// do not affect each other: each layer has a ConvState per stream.
#pragma once

#include <algorithm>
#include <span>

#include "nn/conv.h"

namespace syrinx {

/// Returns an f32 matrix [rows, columns] in the arena.
inline View take_rows(StepContext& ctx, int64_t rows, int64_t columns) {
  return ctx.arena.take(Shape{rows, columns}, DType::kF32);
}

/// Frames [from, from + frames) of job number `job`. In the pass, they begin at frame `begin`.
struct PassPart {
  size_t job = 0;
  int64_t from = 0;
  int64_t begin = 0, frames = 0;
};

/// Divides jobs of `frames[i]` frames into passes of at most `most` frames, and runs the passes one
/// after another. A pass has at most room(i) frames of job i; room(i) is called right before the
/// pass. Frames of a job stay in order. Each pass has as many jobs as fit.
void run_passes(StepContext& ctx, std::span<const int64_t> frames, int64_t most,
                FunctionRef<int64_t(size_t job)> room,
                FunctionRef<void(std::span<const PassPart>)> run);

/// A pass on its way through the layers of a network.
class StreamPass {
 public:
  /// convs(i) returns the ConvStates of the stream of part i, in the order of the layers.
  StreamPass(StepContext& ctx, std::span<const PassPart> parts,
             FunctionRef<std::span<ConvState>(size_t part)> convs);

  std::span<const PassPart> parts() const { return parts_; }
  int64_t frames() const { return frames_; }
  /// Returns the current number of rows per frame.
  int64_t rate() const { return rate_; }

  /// Runs the next layer on x [frames * rate, C]. A layer with out() writes a new matrix; that of a
  /// transposed convolution has `stride` times as many rows. Other layers work in place.
  template <typename Layer>
  View run(StepContext& ctx, const Layer& layer, const View& x) {
    int64_t rate = rate_;
    if constexpr (requires { layer.stride(); }) rate *= layer.stride();
    View out = x;
    if constexpr (requires { layer.out(); }) out = take_rows(ctx, frames_ * rate, layer.out());
    const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
    std::span<ConvJob> jobs = take_array<ConvJob>(ctx, std::ssize(parts_));
    for (size_t i = 0; i < jobs.size(); ++i) {
      const int64_t begin = parts_[i].begin, end = begin + parts_[i].frames;
      jobs[i] = {x.slice(begin * rate_, end * rate_), &convs_[i][layer_],
                 out.slice(begin * rate, end * rate)};
    }
    layer.run(ctx, jobs);
    rate_ = rate;
    ++layer_;
    return out;
  }

 private:
  std::span<const PassPart> parts_;
  std::span<std::span<ConvState>> convs_;
  int64_t frames_ = 0, rate_ = 1;
  size_t layer_ = 0;
};

}  // namespace syrinx
