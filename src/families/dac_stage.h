// Codes to samples by a codec of the DAC kind, as the chunk stage of the families that use one.
#pragma once

#include <algorithm>
#include <memory>

#include "codec/dac_codec.h"
#include "model/stage.h"

namespace syrinx {

/// Decodes every frame once, when it first shows in a window; the link needs the codec's
/// lookahead() and no left context.
class DacStage : public ChunkStage {
 public:
  /// `seed_of` gives the seed of a request's noise; none for codecs without noise.
  explicit DacStage(const DacCodec& codec, uint64_t (*seed_of)(const Sequence&) = nullptr)
      : codec_(codec), seed_of_(seed_of) {}

  Device device() const override { return codec_.device(); }
  FrameType in() const override {
    return {Flow::kCodes, static_cast<int>(codec_.config().codebooks)};
  }
  FrameType out() const override {
    return {Flow::kSamples, static_cast<int>(codec_.config().hop())};
  }

  Bundle bundle(const Sequence& sequence) const override {
    Bundle bundle;
    if (seed_of_) bundle.set("seed", seed_of_(sequence));
    return bundle;
  }
  std::unique_ptr<StreamState> open(Bundle bundle) const override {
    auto stream = std::make_unique<Stream>();
    stream->state = codec_.open(seed_of_ ? bundle.number("seed") : 0);
    return stream;
  }

  void run(StepContext& ctx, std::span<ChunkJob> jobs) const override {
    const Arena::Mark mark(ctx.host);
    const std::span<DacCodecJob> inner = take_array<DacCodecJob>(ctx, std::ssize(jobs));
    for (size_t i = 0; i < jobs.size(); ++i) {
      const ChunkJob& job = jobs[i];
      const size_t left = static_cast<size_t>(job.left) * static_cast<size_t>(in_width());
      inner[i] = {&static_cast<Stream*>(job.state)->state, job.codes.subspan(left), job.fresh,
                  job.last, job.out};
    }
    codec_.run(ctx, inner);
  }

 private:
  struct Stream : StreamState {
    DacCodecState state;
  };
  const DacCodec& codec_;
  uint64_t (*seed_of_)(const Sequence&);
};

}  // namespace syrinx
