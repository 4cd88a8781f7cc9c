// The golden checkpoint through the whole engine: what ESPnet makes audible, guided and not, and
// writes of recordings; words before speech in one answer; the same samples alone and in a crowd.
#include <mutex>

#include "engine/collector.h"
#include "families/bagpiper/fixture.h"

namespace syrinx::bagpiper {
namespace {

/// Collects the text as well.
class Reader : public Collector {
 public:
  void text(std::string_view piece, std::span<const ScoredToken>) override {
    const std::lock_guard lock(mutex_);
    text_ += piece;
    if (heard_ > 0) ++late_pieces_;
  }
  void audio(std::span<const float> samples) override {
    {
      const std::lock_guard lock(mutex_);
      heard_ += samples.size();
    }
    Collector::audio(samples);
  }
  std::string text() const {
    const std::lock_guard lock(mutex_);
    return text_;
  }
  int late_pieces() const { return late_pieces_; }

 private:
  mutable std::mutex mutex_;
  std::string text_;
  size_t heard_ = 0;
  int late_pieces_ = 0;
};

class BagpiperEngine : public testing::Test {
 protected:
  BagpiperEngine()
      : cases_(load_cases()),
        model_(std::make_shared<Bagpiper>(LoadSpec{golden_path("checkpoint"), "tiny"})) {}

  std::unique_ptr<Engine> engine(EngineOptions options = {}) {
    options.threads = 2;
    options.max_unread_s = 1e9;
    options.repetition_s = 0;
    return std::make_unique<Engine>(model_, options);
  }
  static std::shared_ptr<Reader> submit(Engine& engine, const SpeechRequest& request) {
    auto sink = std::make_shared<Reader>();
    const auto id = engine.submit(request, sink);
    EXPECT_TRUE(id.ok()) << (id.ok() ? "" : id.error().message);
    return sink;
  }
  static std::shared_ptr<Reader> run(Engine& engine, const SpeechRequest& request) {
    const auto sink = submit(engine, request);
    EXPECT_NE(sink->wait().reason, FinishReason::kError) << sink->wait().error.message;
    return sink;
  }
  const Case& find(const std::string& name) const {
    for (const Case& c : cases_)
      if (c.name == name) return c;
    throw std::out_of_range(name);
  }
  /// What the codec, which has a parity of its own, makes of golden frames.
  std::vector<float> decoded(const Case& c) const {
    const std::vector<int32_t> codes = ints(c.golden->view("frames"));
    Runner runner(*model_);
    DacCodecState state = model_->codec().open();
    const int64_t frames = std::ssize(codes) / 8;
    std::vector<float> out(static_cast<size_t>(frames * 320));
    const DacCodecJob job{&state, codes, frames, true, out};
    model_->codec().run(runner.context(), std::span(&job, 1));
    return out;
  }

  std::vector<Case> cases_;
  std::shared_ptr<Bagpiper> model_;
};

TEST_F(BagpiperEngine, SpeaksAsEspnet) {
  const auto server = engine();
  for (const char* name : {"scene", "guided", "ends", "guided_ends"}) {
    const Case& c = find(name);
    const auto sink = run(*server, c.request);
    EXPECT_TRUE(sink->samples() == decoded(c)) << name;
    EXPECT_FALSE(sink->text().empty()) << name;
    EXPECT_EQ(sink->late_pieces(), 0) << "words come first";
    EXPECT_EQ(sink->wait().reason, c.ended ? FinishReason::kStop : FinishReason::kLength) << name;
  }
  EXPECT_EQ(run(*server, find("ends").request)->text(), find("ends").answer);
  EXPECT_GE(find("guided").golden->view("frames").shape[0], 200);
}

TEST_F(BagpiperEngine, GuidanceOfOneIsNone) {
  const auto server = engine();
  SpeechRequest request = find("guided").request;
  const std::vector<float> guided = run(*server, request)->samples();
  request.guidance.reset();
  EXPECT_TRUE(run(*server, request)->samples() == guided) << "3 is the released scale";
  request.guidance = 1.f;
  const std::vector<float> none = run(*server, request)->samples();
  EXPECT_FALSE(none == guided);
  Runner runner(*model_);
  Track track = runner.open(request);
  while (!track.finished) runner.step(track);
  std::vector<float> by_hand(track.frames.size() / 8 * 320);
  DacCodecState state = model_->codec().open();
  const DacCodecJob job{&state, track.frames, std::ssize(track.frames) / 8, true, by_hand};
  model_->codec().run(runner.context(), std::span(&job, 1));
  EXPECT_TRUE(none == by_hand);
}

TEST_F(BagpiperEngine, WritesOfWhatItHears) {
  const auto server = engine();
  for (const char* name : {"heard", "heard_short", "turns"}) {
    const Case& c = find(name);
    const auto sink = run(*server, c.request);
    EXPECT_TRUE(sink->samples().empty());
    EXPECT_FALSE(sink->text().empty());
    EXPECT_EQ(sink->wait().reason, c.ended_text ? FinishReason::kStop : FinishReason::kLength);
    EXPECT_EQ(run(*server, c.request)->text(), sink->text()) << "from shared pages, too";
  }
}

TEST_F(BagpiperEngine, SameSamplesAloneAndInACrowd) {
  SpeechRequest request;
  request.text = "Hello there, how are you?";
  request.seed = 5;
  request.max_frames = 40;
  request.max_tokens = 12;
  request.ignore_stop = true;
  const std::vector<float> alone = run(*engine(), request)->samples();
  EXPECT_EQ(alone.size(), 40u * 320);
  EngineOptions crowded;
  crowded.max_batch = 6;  // fewer than requests: sequences come and go
  const auto server = engine(crowded);
  std::vector<std::shared_ptr<Reader>> sinks;
  for (int i = 0; i < 15; ++i) {
    SpeechRequest other = request;
    if (i % 3 != 0) other.text = "The fox number " + std::to_string(i), other.seed = i;
    if (i % 3 == 1) other.guidance = 1.f, other.instructions = "A child says";
    if (i % 3 == 2) other.temperature = 0.3f, other.top_k = 5, other.guidance = 5.f;
    if (i % 5 == 4) other = find(i % 2 == 0 ? "heard" : "turns").request;
    sinks.push_back(submit(*server, other));
  }
  for (int i = 0; i < 15; ++i) {
    EXPECT_NE(sinks[i]->wait().reason, FinishReason::kError) << sinks[i]->wait().error.message;
    if (i % 3 != 0 || i % 5 == 4) continue;
    EXPECT_TRUE(sinks[i]->samples() == alone) << "request " << i;
  }
}

TEST_F(BagpiperEngine, LateTextSoundsTheSameHoweverItComes) {
  const auto server = engine();
  const std::string text =
      "Hello there, it has been a long time since we have met in this town, has it not? How are "
      "you?";
  const auto spoken = [&](size_t piece) {
    SpeechRequest request;
    request.temperature = 0.f;
    request.text_open = true;
    request.max_frames = 100;
    request.max_tokens = 10;
    auto sink = std::make_shared<Reader>();
    const auto id = server->submit(request, sink);
    EXPECT_TRUE(id.ok());
    for (size_t at = 0; at < text.size(); at += piece)
      server->append_text(id.value(), text.substr(at, piece), at + piece >= text.size());
    EXPECT_NE(sink->wait().reason, FinishReason::kError) << sink->wait().error.message;
    return sink->samples();
  };
  const std::vector<float> whole = spoken(text.size());
  EXPECT_FALSE(whole.empty());
  EXPECT_TRUE(spoken(3) == whole);
}

}  // namespace
}  // namespace syrinx::bagpiper
