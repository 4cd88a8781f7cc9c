// For tests of faults: a chain of one AR node and one chunk node in which every function that the
// engine calls can throw. The request's text names the function, the call and what is thrown:
// "rule 3", "advance 1 memory" (bad_alloc), "cut 2 nothing" (an exception with an empty message),
// "run 1 number" (an int, not a std::exception); with an empty text nothing throws.
//
// A request takes max_frames steps, in segments of four, with two frames per step. A frame is one
// number, computed from seed and step (text "same 0": from the seed alone), and yields one sample.
// With the text "early 0" steps run before the text is complete.
// The model counts its living objects, so that a test can detect a leak.
#pragma once

#include <map>
#include <memory>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

#include "model/pipeline.h"

namespace syrinx {

/// Numbers of living objects; both must be 0 at the end of a test.
struct Alive {
  int sequences = 0, streams = 0;
};

/// Throws the fault that a request's text names. The sequence and the stream each have a
/// Breaker.
class Breaker {
 public:
  explicit Breaker(const std::string& text) {
    std::istringstream in(text);
    in >> where_ >> call_ >> what_;
  }
  void reach(const std::string& where) {
    if (where != where_ || ++reached_ != call_) return;
    if (what_ == "memory") throw std::bad_alloc();
    if (what_ == "nothing") throw std::runtime_error("");
    if (what_ == "number") throw 7;
    throw std::runtime_error("it broke in " + where);
  }
  bool broke() const { return call_ > 0 && reached_ >= call_; }
  bool all_the_same() const { return where_ == "same"; }
  bool early() const { return where_ == "early"; }

 private:
  std::string where_, what_;
  int call_ = 0, reached_ = 0;
};

/// A sequence that throws where its request's text says so.
class BreakableSequence : public Sequence {
 public:
  static constexpr int kStepsASegment = 4, kFramesAStep = 2;

  BreakableSequence(const SpeechRequest& request, std::shared_ptr<Alive> counted)
      : text(request.say.text),
        breaker(std::make_shared<Breaker>(request.say.text)),
        alive(std::move(counted)),
        seed(request.sampling.seed),
        guidance_(request.sampling.guidance),
        open_(request.say.open),
        steps_left_(request.terms.max_frames > 0 ? request.terms.max_frames : 10) {
    ++alive->sequences;
    sampling_.temperature = 0;
  }
  ~BreakableSequence() override { --alive->sequences; }

  int prompt_rows() const override { return reach("prompt_rows"), kRows; }
  int companion_rows() const override { return reach("companion_rows"), kRows; }
  int max_steps() const override { return reach("max_steps"), kStepsASegment + 1; }
  bool ready() const override { return reach("ready"), !open_ || breaker->early(); }
  int known_rows() const override { return reach("known_rows"), kRows; }
  std::optional<float> guidance() const override { return reach("guidance"), guidance_; }
  void prefix_keys(bool, std::vector<uint64_t>& keys) const override {
    for (int i = 0; i < kRows; ++i) keys.push_back(static_cast<uint64_t>(i));
    reach("prefix_keys");
  }
  int scores() const override { return reach("scores"), -1; }
  const SampleParams& sampling(int) const override { return reach("sampling"), sampling_; }
  SampleRule rule(int) const override { return reach("rule"), SampleRule{}; }
  std::span<const int32_t> history(int) const override {
    return reach("history"), std::span<const int32_t>();
  }
  Verdict advance(std::span<const int32_t> codes, StepOutput& out) override {
    for (int i = 0; i < kFramesAStep; ++i) {
      const int32_t frame = codes[0] + 100 * i;
      out.frame({&frame, 1});
    }
    ++step;
    reach("advance");  // the step's frames are written, but the client must not get them
    if (--steps_left_ == 0) return {Verdict::kFinished, FinishReason::kStop};
    if (step % kStepsASegment != 0) return {};
    // the next segment has the same prompt rows
    return {Verdict::kNextSegment, FinishReason::kStop, kRows};
  }
  Status append_text(std::string_view, bool last) override {
    reach("append_text");
    open_ = open_ && !last;
    return ok_status();
  }

  const std::string text;
  const std::shared_ptr<Breaker> breaker;
  const std::shared_ptr<Alive> alive;
  const uint64_t seed;
  int step = 0;  ///< number of the step in the request

 private:
  static constexpr int kRows = 10;
  void reach(const char* where) const { breaker->reach(where); }
  std::optional<float> guidance_;
  bool open_;
  int steps_left_;
  SampleParams sampling_;
};

class BreakableModel : public Pipeline {
 public:
  BreakableModel() {
    info_.family = info_.model = "breakable";
    info_.offers.add("guidance");
    info_.speech.sample_rate = 1000;
    info_.speech.frame_rate = 100;
    info_.speech.late_text = LateText::kToken;
    const Link links[] = {{"samples", &samples_, {2, 4, 0, 0}}};
    graph_ = chain(ar_, links);
  }
  const PipelineInfo& info() const override { return info_; }
  const Graph& graph() const override { return graph_; }
  Result<Opened> open(const SpeechRequest& request) const override {
    auto sequence = std::make_unique<BreakableSequence>(request, alive);
    sequence->breaker->reach("open");
    return Opened(std::move(sequence));
  }

  /// Makes the stage throw the fault of `how` ("traits 1 number") when it is used next.
  void break_stage(const std::string& how) const { ar_.breaker = std::make_shared<Breaker>(how); }

  const std::shared_ptr<Alive> alive = std::make_shared<Alive>();

 private:
  class Ar : public ArStage {
   public:
    const ArTraits& traits() const override {
      if (breaker) std::exchange(breaker, nullptr)->reach("traits");
      return traits_;
    }
    void forward(StepContext&, const ArBatch& batch, View hidden) const override {
      std::fill_n(hidden.f32(), hidden.count(), 0.f);
      for (const ArSeq& seq : batch.seqs) of(seq).breaker->reach("forward");
    }
    void logits(StepContext&, int, const ArBatch& batch, View, View, View out) const override {
      float* row = out.f32();
      for (const ArSeq& seq : batch.seqs) {
        if (seq.emits == 0) continue;
        std::fill_n(row, kVocab, 0.f);
        const int step = of(seq).breaker->all_the_same() ? 0 : of(seq).step;
        row[(of(seq).seed + static_cast<uint64_t>(step) * 7) % kVocab] = 1;
        of(seq).breaker->reach("logits");
        row += kVocab;
      }
    }

    mutable std::shared_ptr<Breaker> breaker;  ///< breaks the next call of traits()

   private:
    static constexpr int kVocab = 64;
    static const BreakableSequence& of(const ArSeq& seq) {
      return static_cast<const BreakableSequence&>(*seq.state);
    }
    const ArTraits traits_ = {8, {kVocab}, {{1, 1, 8, DType::kF32}}, 64};
  };

  class Samples : public ChunkStage {
   public:
    FrameType in() const override { return {Flow::kCodes, 1}; }
    FrameType out() const override { return {Flow::kSamples, 1}; }
    explicit Samples(std::shared_ptr<Alive> counted) : alive_(std::move(counted)) {}
    Bundle bundle(const Sequence& sequence) const override {
      const std::string& text = static_cast<const BreakableSequence&>(sequence).text;
      Bundle bundle;
      bundle.set("text", std::vector<int32_t>(text.begin(), text.end()));
      return bundle;
    }
    std::unique_ptr<StreamState> open(Bundle bundle) const override {
      const std::vector<int32_t> text = bundle.ints("text");
      auto stream = std::make_unique<Stream>(
          std::make_shared<Breaker>(std::string(text.begin(), text.end())), alive_);
      stream->breaker->reach("open_stream");
      return stream;
    }
    int cut(const StreamState& state, const WaitingFrames&, int planned) const override {
      static_cast<const Stream&>(state).breaker->reach("cut");
      return planned;
    }
    void run(StepContext&, std::span<ChunkJob> jobs) const override {
      for (const ChunkJob& job : jobs) {
        static_cast<Stream*>(job.state)->breaker->reach("run");
        for (int i = 0; i < job.fresh; ++i) job.out[i] = static_cast<float>(job.codes[i]);
      }
    }

   private:
    struct Stream : StreamState {
      Stream(std::shared_ptr<Breaker> b, std::shared_ptr<Alive> a)
          : breaker(std::move(b)), alive(std::move(a)) {
        ++alive->streams;
      }
      ~Stream() override { --alive->streams; }
      std::shared_ptr<Breaker> breaker;
      std::shared_ptr<Alive> alive;
    };
    const std::shared_ptr<Alive> alive_;
  };

  PipelineInfo info_;
  Ar ar_;
  Samples samples_{alive};
  Graph graph_;
};

}  // namespace syrinx
