// The chunk stage of families whose codec keeps a state for each stream: maps codes to samples.
// Header only.
#pragma once

#include <memory>
#include <type_traits>

#include "codec/codec_pass.h"
#include "model/stage.h"

namespace syrinx {

/// The stream of a codec that keeps a CodecState.
struct CodecStream : StreamState {
  explicit CodecStream(CodecState fresh) : state(std::move(fresh)) {}
  CodecState state;
};

/// Decodes every frame once. Its edge needs the codec's lookahead, if any, and no left context. A
/// Job is the argument of the codec's run(). If the codec looks ahead, the members of a Job are
/// state, codes, fresh (the number of frames to decode), last and out.
template <typename Codec, typename Job = CodecJob>
class CodecStage : public ChunkStage {
 public:
  /// `seed_of` returns the seed of a request's noise; null for codecs without noise.
  explicit CodecStage(const Codec& codec, uint64_t (*seed_of)(const Sequence&) = nullptr)
      : codec_(codec), seed_of_(seed_of) {}

  Device device() const override {
    if constexpr (requires { codec_.device(); }) return codec_.device();
    return Device::kCpu;
  }
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
    if constexpr (requires { codec_.open(uint64_t{}); }) {
      return std::make_unique<Stream>(codec_.open(seed_of_ ? bundle.number("seed") : 0));
    } else {
      return std::make_unique<Stream>(codec_.open());
    }
  }

  void run(StepContext& ctx, std::span<ChunkJob> jobs) const override {
    const Arena::Mark mark(ctx.host);
    const std::span<Job> inner = take_array<Job>(ctx, std::ssize(jobs));
    for (size_t i = 0; i < jobs.size(); ++i) inner[i] = job_of(jobs[i]);
    if constexpr (requires { codec_.run(ctx, inner); }) {
      codec_.run(ctx, inner);
    } else {
      for (const Job& job : inner) codec_.run(ctx, job);
    }
  }

 private:
  using State = std::remove_pointer_t<decltype(Job::state)>;
  struct Stream : StreamState {
    explicit Stream(State fresh) : state(std::move(fresh)) {}
    State state;
  };

  Job job_of(const ChunkJob& job) const {
    const auto width = static_cast<size_t>(in_width());
    const auto codes = job.codes.subspan(static_cast<size_t>(job.left) * width);
    State* state = &static_cast<Stream*>(job.state)->state;
    if constexpr (requires { &Job::last; }) {
      return {state, codes, job.fresh, job.last, job.out};
    } else {
      return {state, codes.first(static_cast<size_t>(job.fresh) * width), job.out};
    }
  }

  const Codec& codec_;
  uint64_t (*seed_of_)(const Sequence&);
};

}  // namespace syrinx
