#include "bench/profiled_pipeline.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace syrinx {
namespace {

constexpr double kLongestFrame_s = 10;

class ProfiledSequence : public Sequence {
 public:
  explicit ProfiledSequence(const UtteranceProfile& utterance) : utterance_(utterance) {
    for (const SegmentProfile& segment : utterance.segments) {
      guided_ = guided_ || segment.companion_rows > 0;
    }
  }
  int prompt_rows() const override { return segment().prompt_rows; }
  int companion_rows() const override { return std::max(1, segment().companion_rows); }
  std::optional<float> guidance() const override {
    return guided_ ? std::optional(1.f) : std::nullopt;
  }
  int max_steps() const override { return segment().steps; }
  const SampleParams& sampling(int) const override { return sampling_; }
  SampleRule rule(int) const override { return {}; }

  /// Frames of a segment come evenly from first_frame_step to its last step.
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override {
    const SegmentProfile& of = segment();
    ++steps_;
    int64_t due = 0;
    if (steps_ >= of.steps) {
      due = of.frames;
    } else if (steps_ >= of.first_frame_step && of.frames > 0) {
      const int64_t since = steps_ - of.first_frame_step;
      due = 1 + since * (of.frames - 1) / std::max(1, of.steps - of.first_frame_step);
    }
    for (; frames_ < due; ++frames_) out.frame(codes);
    if (steps_ < of.steps) return {};
    if (at_ + 1 == utterance_.segments.size()) return {Verdict::kFinished};
    ++at_;
    steps_ = 0, frames_ = 0;
    return {Verdict::kNextSegment};
  }

 private:
  const SegmentProfile& segment() const { return utterance_.segments[at_]; }

  const UtteranceProfile& utterance_;
  bool guided_ = false;
  size_t at_ = 0;
  int steps_ = 0;
  int64_t frames_ = 0;  ///< of the segment, told already
  const SampleParams sampling_;
};

/// One code a step; the cache has pages but no bytes.
class ProfiledAr : public ArStage {
 public:
  explicit ProfiledAr(const StepProfile& profile) {
    traits_.hidden = 1;
    traits_.vocab = {1};
    for (const UtteranceProfile& utterance : profile.utterances) {
      for (const SegmentProfile& of : utterance.segments) {
        traits_.max_positions =
            std::max(traits_.max_positions, std::max(of.prompt_rows, of.companion_rows) + of.steps);
      }
    }
  }
  const ArTraits& traits() const override { return traits_; }
  void forward(StepContext&, const ArBatch&, View) const override { never(); }
  void logits(StepContext&, int, const ArBatch&, View, View, View) const override { never(); }
  [[noreturn]] static void never() { throw InternalError("a profile was run"); }

 private:
  ArTraits traits_;
};

class ProfiledChunks : public ChunkStage {
 public:
  ProfiledChunks(FrameType in, FrameType out) : in_(in), out_(out) {}
  FrameType in() const override { return in_; }
  FrameType out() const override { return out_; }
  std::unique_ptr<StreamState> open(const Sequence&) const override {
    return std::make_unique<StreamState>();
  }
  void run(StepContext&, std::span<ChunkJob>) const override { ProfiledAr::never(); }

 private:
  FrameType in_, out_;
};

class ProfiledPipeline : public Pipeline {
 public:
  explicit ProfiledPipeline(const StepProfile& profile) : profile_(profile), ar_(profile) {
    const double frame = profile.links.front().samples_per_frame;
    for (const LinkProfile& link : profile.links) {
      if (std::abs(link.samples_per_frame - frame) > 1e-6 * frame) {
        throw LoadError(concat("the link '", link.name, "' of the profile takes frames of ",
                               link.samples_per_frame, " samples, the first one of ", frame,
                               "; links make a frame of each"));
      }
    }
    if (!(frame <= kLongestFrame_s * profile.sample_rate)) {
      throw LoadError(concat("a frame of the profile lasts ", frame / profile.sample_rate, " s"));
    }
    const int samples = std::max(1, static_cast<int>(std::lround(frame)));
    const int shared = std::gcd(samples, profile.sample_rate);
    info_.family = "profile";
    info_.model = profile.model;
    info_.sample_rate = profile.sample_rate / shared;
    info_.frame_rate = profile.sample_rate / frame;
    std::vector<Link> links;
    for (size_t i = 0; i < profile.links.size(); ++i) {
      const FrameType in{i == 0 ? Flow::kCodes : Flow::kRows, 1};
      const bool last = i + 1 == profile.links.size();
      const FrameType out{last ? Flow::kSamples : Flow::kRows, last ? samples / shared : 1};
      stages_.push_back(std::make_unique<ProfiledChunks>(in, out));
      links.push_back({profile.links[i].name, stages_.back().get(), profile.links[i].policy});
    }
    graph_ = chain(ar_, links);
  }
  const PipelineInfo& info() const override { return info_; }
  const Graph& graph() const override { return graph_; }
  Result<Opened> open(const SpeechRequest& request) const override {
    SYRINX_CHECK(request.seed < profile_.utterances.size());
    return Opened(std::make_unique<ProfiledSequence>(profile_.utterances[request.seed]));
  }

 private:
  const StepProfile& profile_;
  PipelineInfo info_;
  ProfiledAr ar_;
  std::vector<std::unique_ptr<ProfiledChunks>> stages_;
  Graph graph_;
};

}  // namespace

std::shared_ptr<const Pipeline> make_profiled_pipeline(const StepProfile& profile) {
  return std::make_shared<ProfiledPipeline>(profile);
}

}  // namespace syrinx
