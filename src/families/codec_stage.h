// The chunk stage of families whose codec keeps a state for each stream: maps codes to samples.
// Header only.
#pragma once

#include <memory>
#include <type_traits>

#include "codec/codec_pass.h"
#include "families/loading/describe.h"
#include "model/graph.h"
#include "model/stage.h"

namespace syrinx {

/// The stream of a codec that keeps a CodecState.
struct CodecStream : StreamState {
  explicit CodecStream(CodecState fresh) : state(std::move(fresh)) {}
  CodecState state;
};

/// Returns the seed of a request's noise, for codecs that add noise.
using SeedOf = uint64_t (*)(const Sequence&);

/// Frames of the first chunk and of each later one.
struct ChunkSizes {
  int initial = 1, steady = 1;
};

/// The argument of a codec's run(): Codec::Job, or CodecJob.
template <typename Codec>
struct JobOf {
  using Type = CodecJob;
};
template <typename Codec>
requires requires { typename Codec::Job; }
struct JobOf<Codec> {
  using Type = typename Codec::Job;
};

/// Decodes every frame once. Its edge needs the codec's lookahead, if any, and no left context. If
/// the codec looks ahead, the members of its Job are state, codes, fresh (the number of frames to
/// decode), last and out.
template <typename Codec>
class CodecStage : public ChunkStage {
 public:
  /// `seed_of`: null if the noise of all requests has the same seed.
  explicit CodecStage(std::shared_ptr<const Codec> codec, SeedOf seed_of = nullptr)
      : codec_(std::move(codec)), seed_of_(seed_of) {}

  const Codec& codec() const { return *codec_; }
  /// Returns the node "codec" of a chain.
  Link link(ChunkSizes chunks) const {
    ChunkPolicy policy{chunks.initial, chunks.steady, 0, 0};
    if constexpr (requires { codec_->config().lookahead(); }) {
      policy.lookahead = static_cast<int>(codec_->config().lookahead());
    }
    return {"codec", this, policy};
  }
  PartInfo part() const {
    const CodecInfo info = codec_info(*codec_);
    return {"codec", info.shape, info.bytes};
  }

  Device device() const override {
    if constexpr (requires { codec_->device(); }) return codec_->device();
    return Device::kCpu;
  }
  FrameType in() const override {
    return {Flow::kCodes, static_cast<int>(codec_->config().codebooks)};
  }
  FrameType out() const override {
    return {Flow::kSamples, static_cast<int>(codec_->config().hop())};
  }

  Bundle bundle(const Sequence& sequence) const override {
    Bundle bundle;
    if (kSeeded && seed_of_) bundle.set("seed", seed_of_(sequence));
    return bundle;
  }
  std::unique_ptr<StreamState> open(Bundle bundle) const override {
    if constexpr (kSeeded) {
      return std::make_unique<Stream>(codec_->open(seed_of_ ? bundle.number("seed") : 0));
    } else {
      return std::make_unique<Stream>(codec_->open());
    }
  }

  void run(StepContext& ctx, std::span<ChunkJob> jobs) const override {
    const Arena::Mark mark(ctx.host);
    const std::span<Job> inner = take_array<Job>(ctx, std::ssize(jobs));
    for (size_t i = 0; i < jobs.size(); ++i) inner[i] = job_of(jobs[i]);
    if constexpr (requires { codec_->run(ctx, inner); }) {
      codec_->run(ctx, inner);
    } else {
      for (const Job& job : inner) codec_->run(ctx, job);
    }
  }

 protected:
  static constexpr bool kSeeded = requires(const Codec& codec) { codec.open(uint64_t{}); };
  using Job = typename JobOf<Codec>::Type;
  using Kept = std::remove_pointer_t<decltype(Job::state)>;
  struct Stream : StreamState {
    explicit Stream(Kept fresh) : state(std::move(fresh)) {}
    Kept state;
  };

 private:
  Job job_of(const ChunkJob& job) const {
    const auto width = static_cast<size_t>(in_width());
    const auto codes = job.codes.subspan(static_cast<size_t>(job.left) * width);
    Kept* state = &static_cast<Stream*>(job.state)->state;
    if constexpr (requires { &Job::last; }) {
      return {state, codes, job.fresh, job.last, job.out};
    } else {
      return {state, codes.first(static_cast<size_t>(job.fresh) * width), job.out};
    }
  }

  const std::shared_ptr<const Codec> codec_;
  const SeedOf seed_of_;
};

}  // namespace syrinx
