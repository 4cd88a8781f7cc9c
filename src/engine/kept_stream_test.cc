// Turns of a conversation whose audio is one stream of the codec.
#include "model/kept_stream.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "engine/testing/ear.h"
#include "engine/testing/idle.h"

namespace syrinx {
namespace {

/// A codec whose every sample depends on all codes of its stream.
class Tally : public ChunkStage {
 public:
  static constexpr int kHop = 20;
  FrameType in() const override { return {Flow::kCodes, 2}; }
  FrameType out() const override { return {Flow::kSamples, kHop}; }
  std::unique_ptr<StreamState> open(Bundle) const override {
    return std::make_unique<Stream>(streams);
  }
  void run(StepContext&, std::span<ChunkJob> jobs) const override {
    for (ChunkJob& job : jobs) {
      frames += job.fresh;
      const auto codes = job.codes.subspan(2 * static_cast<size_t>(job.left));
      add(static_cast<Stream*>(job.state)->sum, codes.first(2 * static_cast<size_t>(job.fresh)),
          job.out);
    }
  }
  /// Writes the samples of `codes`.
  static void add(uint32_t& sum, std::span<const int32_t> codes, std::span<float> out) {
    for (size_t i = 0; i < codes.size(); ++i) {
      sum = sum * 31 + static_cast<uint32_t>(codes[i]);
      for (size_t s = i / 2 * kHop; i % 2 == 1 && s < (i / 2 + 1) * kHop; ++s)
        out[s] = static_cast<float>(sum % 1000) / 1000;
    }
  }

  const std::shared_ptr<std::atomic<int>> streams = std::make_shared<std::atomic<int>>(0);
  mutable std::atomic<int> frames = 0;  ///< frames of all chunks

 private:
  struct Stream : StreamState {
    explicit Stream(std::shared_ptr<std::atomic<int>> all) : streams(std::move(all)) { ++*streams; }
    ~Stream() override { --*streams; }
    const std::shared_ptr<std::atomic<int>> streams;
    uint32_t sum = 0;
  };
};

/// The toy model with this codec.
class TallyModel : public Pipeline {
 public:
  explicit TallyModel(ChunkPolicy policy = {1, 6, 0, 0}) {
    const Link links[] = {{"tally", &tally, policy}};
    graph_ = chain(*toy_->graph().node(0).ar, links);
  }
  const PipelineInfo& info() const override { return toy_->info(); }
  const Graph& graph() const override { return graph_; }
  Result<Opened> open(const SpeechRequest& request) const override {
    Result<Opened> opened = toy_->open(request);
    if (opened.ok()) opened.value().kept = request.say.kept;
    return opened;
  }

  Tally tally;

 private:
  const std::shared_ptr<const Pipeline> toy_ = make_toy_pipeline();
  Graph graph_;
};

class KeptStreamTest : public testing::Test {
 protected:
  void start(EngineOptions options = small(), ChunkPolicy policy = {1, 6, 0, 0}) {
    model_ = std::make_shared<TallyModel>(policy);
    engine_ = std::make_unique<Engine>(model_, options);
  }
  std::shared_ptr<Ear> begin(const std::string& text, std::shared_ptr<KeptStream> kept,
                             bool open = false) {
    SpeechRequest request = say(text);
    request.say.kept = std::move(kept);
    request.say.open = open;
    auto ear = std::make_shared<Ear>();
    const Result<RequestId> id = engine_->submit(request, ear);
    EXPECT_TRUE(id.ok());
    id_ = id.value();
    return ear;
  }
  std::vector<float> turn(const std::string& text, std::shared_ptr<KeptStream> kept) {
    const auto ear = begin(text, std::move(kept));
    EXPECT_EQ(ear->wait().reason, FinishReason::kStop) << ear->wait().error.message;
    EXPECT_EQ(ear->wait().frames * Tally::kHop, std::ssize(ear->samples()));
    return ear->samples();
  }
  /// Returns the samples of all turns, made by one stream at once.
  std::vector<float> whole(KeptStream& kept) const {
    const KeptStream::Past past = kept.take(model_->tally);
    std::vector<float> out(past.codes.size() / 2 * Tally::kHop);
    uint32_t sum = 0;
    Tally::add(sum, past.codes, out);
    return out;
  }

  std::shared_ptr<TallyModel> model_;
  std::unique_ptr<Engine> engine_;
  RequestId id_ = 0;
};

TEST_F(KeptStreamTest, TurnsAreOneStream) {
  const std::string turns[] = {"hello", long_text(530, 3), "b", long_text(90, 1)};
  for (const Executors executors : {Executors::kShared, Executors::kSplit, Executors::kEach}) {
    for (const ChunkPolicy policy : {ChunkPolicy{1, 6, 0, 0}, ChunkPolicy{3, 2, 4, 0}}) {
      for (const bool drops : {false, true}) {
        EngineOptions options = small();
        options.executors = executors;
        start(options, policy);
        const auto kept = std::make_shared<KeptStream>();
        std::vector<float> heard;
        size_t frames = 0, ran = 0;
        for (const std::string& text : turns) {
          if (drops) kept->drop();
          if (drops) ran += frames;
          frames += text.size();
          const std::vector<float> samples = turn(text, kept);
          EXPECT_EQ(samples.size(), text.size() * Tally::kHop);
          heard.insert(heard.end(), samples.begin(), samples.end());
        }
        EXPECT_EQ(static_cast<size_t>(model_->tally.frames), frames + ran);
        EXPECT_TRUE(kept->holds());
        EXPECT_EQ(heard, whole(*kept));
      }
    }
  }
}

TEST_F(KeptStreamTest, ThePausesOfATurnDoNotBreakItsStream) {
  start();
  const auto kept = std::make_shared<KeptStream>(), same = std::make_shared<KeptStream>();
  for (const auto& each : {kept, same}) {
    const auto ear = begin("abc [pause 0.1s] def", each);
    EXPECT_EQ(ear->wait().reason, FinishReason::kStop);
    EXPECT_TRUE(each->holds());
  }
  same->drop();
  EXPECT_EQ(turn("ghi", kept), turn("ghi", same));
  EXPECT_EQ(whole(*kept), whole(*same));
}

TEST_F(KeptStreamTest, LateTextGoesOn) {
  start();
  const auto kept = std::make_shared<KeptStream>();
  std::vector<float> heard = turn("hello", kept);
  const auto ear = begin("wo", kept, true);
  engine_->append_text(id_, "rl", false);
  engine_->append_text(id_, "d", true);
  EXPECT_EQ(ear->wait().reason, FinishReason::kStop);
  const std::vector<float> rest = ear->samples();
  heard.insert(heard.end(), rest.begin(), rest.end());
  EXPECT_EQ(heard, whole(*kept));
}

TEST_F(KeptStreamTest, OnlyTheNewestStreamsStay) {
  EngineOptions options = small();
  options.max_batch = 3;
  start(options);
  std::vector<std::shared_ptr<KeptStream>> talks;
  for (int i = 0; i < 5; ++i) {
    talks.push_back(std::make_shared<KeptStream>());
    turn(long_text(20, i), talks.back());
  }
  EXPECT_EQ(*model_->tally.streams, 3);
  EXPECT_FALSE(talks[1]->holds());
  EXPECT_TRUE(talks[2]->holds());
  for (const auto& talk : talks) turn("more", talk);
  EXPECT_EQ(*model_->tally.streams, 3);
  const auto alone = std::make_shared<KeptStream>();
  turn(long_text(20, 0), alone);
  turn("more", alone);
  EXPECT_EQ(whole(*talks[0]), whole(*alone)) << "a dropped stream changes only the time";
  talks.clear();
  turn("a", std::make_shared<KeptStream>());
  // The owner of the last one has gone. The engine's thread drops the stream after it sends the
  // end.
  for (int i = 0; i < 1000 && *model_->tally.streams > 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(*model_->tally.streams, 0);
}

TEST_F(KeptStreamTest, ACancelledTurnLeavesNothing) {
  start();
  const auto kept = std::make_shared<KeptStream>();
  const std::vector<float> first = turn("hello", kept);
  const auto cut = begin("and then", kept, true);
  cut->wait_for_audio();
  engine_->cancel(id_);
  EXPECT_EQ(cut->wait().reason, FinishReason::kCancelled);
  EXPECT_FALSE(kept->holds());
  EXPECT_EQ(turn("hello", kept), first) << "the codec begins anew";
  // A request that fails before it is opened leaves the stream as it is.
  SpeechRequest refused = say(std::string(300'000, 'a'));
  refused.say.kept = kept;
  EXPECT_FALSE(engine_->submit(refused, std::make_shared<Ear>()).ok());
  EXPECT_TRUE(kept->holds());
}

TEST_F(KeptStreamTest, AStreamEndsWithItsEngine) {
  start();
  const auto kept = std::make_shared<KeptStream>();
  std::vector<float> heard = turn("hello", kept);
  EXPECT_TRUE(wait_until_idle(*engine_, 10));
  const std::weak_ptr<TallyModel> model = model_;
  const auto streams = model_->tally.streams;
  engine_.reset();
  model_.reset();
  EXPECT_TRUE(model.expired()) << "a conversation holds a model that was unloaded";
  EXPECT_EQ(*streams, 0);
  start();  // the model is loaded again
  const std::vector<float> more = turn(" world", kept);
  heard.insert(heard.end(), more.begin(), more.end());
  EXPECT_EQ(heard, whole(*kept));
}

/// While a model is replaced, both have engines. The stage of one never gets a stream of the other.
TEST_F(KeptStreamTest, AStreamOfAnotherModelIsNotContinued) {
  start();
  const auto kept = std::make_shared<KeptStream>();
  std::vector<float> heard = turn("hello", kept);
  const auto old_model = model_;
  const auto old_engine = std::move(engine_);
  start();
  const std::vector<float> more = turn(" world", kept);
  EXPECT_EQ(model_->tally.frames, 11) << "the codes of both turns";
  EXPECT_EQ(*old_model->tally.streams, 0);
  heard.insert(heard.end(), more.begin(), more.end());
  EXPECT_EQ(heard, whole(*kept));
}

/// A client that does not read holds the frames of a chunk or two, not those of its whole turn.
TEST_F(KeptStreamTest, ASlowReaderPausesItsTurn) {
  start();
  const auto kept = std::make_shared<KeptStream>(), other = std::make_shared<KeptStream>();
  SpeechRequest request = say(long_text(900, 1));
  request.say.kept = kept;
  auto slow = std::make_shared<Ear>();
  slow->unread = 1000;
  ASSERT_TRUE(engine_->submit(request, slow).ok());
  slow->wait_for_audio();
  for (int i = 0; i < 20; ++i) turn("other", other);
  EXPECT_LT(model_->tally.frames, 20 * 5 + 100);
  EXPECT_LT(std::ssize(slow->samples()), 100 * Tally::kHop);
  slow->unread = 0;
  EXPECT_EQ(slow->wait().reason, FinishReason::kStop);
  EXPECT_EQ(slow->samples(), whole(*kept));
}

}  // namespace
}  // namespace syrinx
