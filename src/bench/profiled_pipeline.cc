#include "bench/profiled_pipeline.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace syrinx {
namespace {

constexpr double kLongestFrame_s = 10;

/// The sequence of one AR node for an utterance. Node 0 reads the client's text. Every other node
/// reads the ids of the node before it.
class ProfiledSequence : public Sequence {
 public:
  ProfiledSequence(const StepProfile& profile, const UtteranceProfile& utterance, size_t node,
                   bool whole)
      : segments_(utterance.nodes[node]),
        lead_(profile.ars[node].lead),
        fed_(node > 0),
        writes_(node + 1 < profile.ars.size()),
        whole_(whole) {
    for (const SegmentProfile& segment : segments_) {
      guided_ = guided_ || segment.companion_rows > 0;
    }
  }
  int prompt_rows() const override { return segment().prompt_rows; }
  int companion_rows() const override { return std::max(1, segment().companion_rows); }
  std::optional<float> guidance() const override {
    return guided_ ? std::optional(2.f) : std::nullopt;
  }
  int max_steps() const override { return segment().steps; }
  const SampleParams& sampling(int) const override { return sampling_; }
  SampleRule rule(int) const override { return {}; }

  bool ready() const override {
    return !fed_ || all_taken_ || (!whole_ && taken_ >= lead_ + all_steps_);
  }
  Status take(int, const Frames& frames) override {
    taken_ += frames.count;
    all_taken_ = all_taken_ || frames.last;
    return ok_status();
  }

  /// Distributes the frames of a segment evenly from first_frame_step to its last step.
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override {
    const SegmentProfile& of = segment();
    ++steps_, ++all_steps_;
    if (writes_) {
      out.id(codes[0]);
      if (!fed_) out.text(".");
    } else {
      speak(of, codes, out);
    }
    if (steps_ < of.steps) return {};
    if (at_ + 1 == segments_.size()) return {Verdict::kFinished};
    ++at_;
    steps_ = 0, frames_ = 0;
    return {Verdict::kNextSegment};
  }

 private:
  const SegmentProfile& segment() const { return segments_[at_]; }
  void speak(const SegmentProfile& of, std::span<const int32_t> codes, StepOutput& out) {
    int64_t due = 0;
    if (steps_ >= of.steps) {
      due = of.frames;
    } else if (steps_ >= of.first_frame_step && of.frames > 0) {
      const int64_t since = steps_ - of.first_frame_step;
      due = 1 + since * (of.frames - 1) / std::max(1, of.steps - of.first_frame_step);
    }
    for (; frames_ < due; ++frames_) out.frame(codes);
  }

  const std::vector<SegmentProfile>& segments_;
  const int lead_;
  const bool fed_, writes_, whole_;
  bool guided_ = false, all_taken_ = false;
  size_t at_ = 0;
  int steps_ = 0;          ///< steps of the segment so far
  int64_t all_steps_ = 0;  ///< steps of all segments so far
  int64_t taken_ = 0;      ///< ids taken so far
  int64_t frames_ = 0;     ///< frames of the segment that were emitted
  const SampleParams sampling_;
};

/// An AR stage that samples one code per step. Its cache has pages but no bytes.
class ProfiledAr : public ArStage {
 public:
  ProfiledAr(const StepProfile& profile, size_t node, bool remote) : remote_(remote) {
    traits_.hidden = 1;
    traits_.vocab = {1};
    for (const UtteranceProfile& utterance : profile.utterances) {
      for (const SegmentProfile& of : utterance.nodes[node]) {
        traits_.max_positions =
            std::max(traits_.max_positions, std::max(of.prompt_rows, of.companion_rows) + of.steps);
      }
    }
  }
  const ArTraits& traits() const override { return traits_; }
  bool remote() const override { return remote_; }
  void forward(StepContext&, const ArBatch&, View) const override { never(); }
  void logits(StepContext&, int, const ArBatch&, View, View, View) const override { never(); }
  [[noreturn]] static void never() { throw InternalError("a profile cannot run stages"); }

 private:
  const bool remote_;
  ArTraits traits_;
};

class ProfiledChunks : public ChunkStage {
 public:
  ProfiledChunks(FrameType in, FrameType out, bool remote) : in_(in), out_(out), remote_(remote) {}
  FrameType in() const override { return in_; }
  FrameType out() const override { return out_; }
  bool remote() const override { return remote_; }
  std::unique_ptr<StreamState> open(Bundle) const override {
    return std::make_unique<StreamState>();
  }
  void run(StepContext&, std::span<ChunkJob>) const override { ProfiledAr::never(); }

 private:
  const FrameType in_, out_;
  const bool remote_;
};

class ProfiledPipeline : public Pipeline {
 public:
  ProfiledPipeline(const StepProfile& profile, bool whole, const std::vector<std::string>& apart)
      : profile_(profile), whole_(whole) {
    for (const std::string& name : apart) {
      const auto is = [&](const auto& node) { return node.name == name; };
      if (std::none_of(profile.links.begin(), profile.links.end(), is) &&
          std::none_of(profile.ars.begin(), profile.ars.end(), is)) {
        throw LoadError("the profile has no node '" + name + "' that could run in another process");
      }
    }
    const double frame = profile.links.front().samples_per_frame;
    for (const LinkProfile& link : profile.links) {
      if (std::abs(link.samples_per_frame - frame) > 1e-6 * frame) {
        throw LoadError(concat("the link '", link.name, "' of the profile has frames of ",
                               link.samples_per_frame, " samples, but the first link has ", frame,
                               "; all links must have frames of one size"));
      }
    }
    if (!(frame <= kLongestFrame_s * profile.sample_rate)) {
      throw LoadError(
          concat("the profile's frames are too long: ", frame / profile.sample_rate, " s"));
    }
    const int samples = std::max(1, static_cast<int>(std::lround(frame)));
    const int shared = std::gcd(samples, profile.sample_rate);
    info_.family = "profile";
    info_.model = profile.model;
    info_.speech.sample_rate = profile.sample_rate / shared;
    info_.speech.frame_rate = profile.sample_rate / frame;
    info_.writes = profile.ars.size() > 1;
    join(samples / shared, apart);
  }
  const PipelineInfo& info() const override { return info_; }
  const Graph& graph() const override { return graph_; }
  Result<Opened> open(const SpeechRequest& request) const override {
    SYRINX_CHECK(request.sampling.seed < profile_.utterances.size());
    const UtteranceProfile& utterance = profile_.utterances[request.sampling.seed];
    Opened opened;
    for (size_t node = 0; node < profile_.ars.size(); ++node) {
      opened.sequences.push_back(
          std::make_unique<ProfiledSequence>(profile_, utterance, node, whole_));
    }
    return opened;
  }

 private:
  /// Joins the nodes: client -> ar -> ... -> ar -> link -> ... -> link -> client.
  void join(int samples, const std::vector<std::string>& apart) {
    std::vector<Node> nodes;
    std::vector<Edge> edges;
    const auto ars = static_cast<int>(profile_.ars.size());
    const auto links = static_cast<int>(profile_.links.size());
    const auto is_remote = [&](const std::string& name) {
      return std::find(apart.begin(), apart.end(), name) != apart.end();
    };
    for (int i = 0; i < ars; ++i) {
      ars_.push_back(std::make_unique<ProfiledAr>(profile_, i, is_remote(profile_.ars[i].name)));
      Node node{.name = profile_.ars[i].name, .ar = ars_.back().get(), .in = {}, .out = {}};
      node.in = {{i == 0 ? Flow::kText : Flow::kIds}};
      if (i + 1 == ars) {
        node.out = {{Flow::kCodes, 1}};
      } else {
        node.out = {{Flow::kIds}};
        if (i == 0) node.out.push_back({Flow::kText});
      }
      nodes.push_back(std::move(node));
      edges.push_back({.from = {i - 1}, .to = {i}});
    }
    if (ars > 1) edges.push_back({.from = {0, 1}, .to = {kClient}});
    for (int i = 0; i < links; ++i) {
      const FrameType in{i == 0 ? Flow::kCodes : Flow::kRows, 1};
      const bool last = i + 1 == links;
      const FrameType out{last ? Flow::kSamples : Flow::kRows, last ? samples : 1};
      chunks_.push_back(
          std::make_unique<ProfiledChunks>(in, out, is_remote(profile_.links[i].name)));
      nodes.push_back(
          {.name = profile_.links[i].name, .chunk = chunks_.back().get(), .in = {}, .out = {}});
      Edge edge{.from = {ars + i - 1}, .to = {ars + i}, .policy = profile_.links[i].policy};
      if (whole_)
        edge.policy.initial = edge.policy.steady = kAllFrames, edge.window = 2 * kAllFrames;
      edges.push_back(edge);
    }
    edges.push_back({.from = {ars + links - 1}, .to = {kClient}});
    graph_ = {std::move(nodes), std::move(edges)};
  }

  static constexpr int kAllFrames = 1 << 20;  ///< more than any utterance has

  const StepProfile& profile_;
  const bool whole_;
  PipelineInfo info_;
  std::vector<std::unique_ptr<ProfiledAr>> ars_;
  std::vector<std::unique_ptr<ProfiledChunks>> chunks_;
  Graph graph_;
};

}  // namespace

std::shared_ptr<const Pipeline> make_profiled_pipeline(const StepProfile& profile, bool whole,
                                                       const std::vector<std::string>& apart) {
  return std::make_shared<ProfiledPipeline>(profile, whole, apart);
}

}  // namespace syrinx
