// Runs the golden checkpoint through the whole engine: ESPnet's audio with and without guidance,
// its texts about recordings, words before speech in one answer, the same samples among others.
#include "engine/testing/listening.h"
#include "engine/testing/mixed_schedules.h"
#include "families/bagpiper/fixture.h"

namespace syrinx::bagpiper {
namespace {

/// Collects texts and audio in their order. Consecutive texts are joined; consecutive audio, too.
struct Ordered : Collector {
  struct Piece {
    std::string text;
    size_t samples = 0;
  };
  void text(std::string_view piece, std::span<const ScoredToken>) override {
    if (parts.empty() || parts.back().samples > 0) parts.emplace_back();
    parts.back().text += piece;
  }
  void audio(std::span<const float> samples) override {
    if (parts.empty() || !parts.back().text.empty()) parts.emplace_back();
    parts.back().samples += samples.size();
    Collector::audio(samples);
  }
  std::vector<Piece> parts;
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
  const Case& find(const std::string& name) const {
    for (const Case& c : cases_)
      if (c.name == name) return c;
    throw std::out_of_range(name);
  }
  /// Decodes golden frames with the codec, which has its own parity test, each part alone.
  std::vector<float> decoded(const Case& c) const {
    std::vector<float> out;
    Runner runner(*model_);
    for (const std::vector<int32_t>& codes : c.speech()) {
      DacCodecState state = model_->codec().open();
      const int64_t frames = std::ssize(codes) / 8;
      std::vector<float> samples(static_cast<size_t>(frames * 320));
      const DacCodecJob job{&state, codes, frames, true, samples};
      model_->codec().run(runner.context(), std::span(&job, 1));
      out.insert(out.end(), samples.begin(), samples.end());
    }
    return out;
  }

  std::vector<Case> cases_;
  std::shared_ptr<Bagpiper> model_;
};

TEST_F(BagpiperEngine, SpeaksAsEspnet) {
  const auto server = engine();
  for (const char* name : {"scene", "guided", "ends", "guided_ends", "back", "guided_back"}) {
    const Case& c = find(name);
    const auto sink = answered(*server, c.request);
    EXPECT_TRUE(sink->samples() == decoded(c)) << name;
    EXPECT_EQ(sink->text(), c.words()) << name;
    EXPECT_EQ(sink->wait().reason, c.stopped ? FinishReason::kStop : FinishReason::kLength) << name;
  }
  EXPECT_GE(find("guided").golden->view("frames").shape[0], 200);
}

// Text, audio, text, text, audio: parts after the first audio are sent only when they are
// complete.
TEST_F(BagpiperEngine, PartsComeInTheirOrder) {
  const auto server = engine();
  const Case& c = find("guided_back");
  const auto sink = std::make_shared<Ordered>();
  ASSERT_TRUE(server->submit(c.request, sink).ok());
  EXPECT_EQ(sink->wait().reason, FinishReason::kStop);
  const std::vector<std::vector<int32_t>> speech = c.speech();
  const size_t first = speech[0].size() / 8 * 320, second = speech[1].size() / 8 * 320;
  ASSERT_EQ(sink->parts.size(), 4u);
  EXPECT_EQ(sink->parts[0].text, c.answer);
  EXPECT_EQ(sink->parts[1].samples, first);
  EXPECT_EQ(sink->parts[2].text, "\n\n" + c.more[0] + "\n\n" + c.more[1]);
  EXPECT_EQ(sink->parts[3].samples, second);
  EXPECT_EQ(sink->wait().frames, std::ssize(speech[0]) / 8 + std::ssize(speech[1]) / 8);
  EXPECT_EQ(sink->wait().prompt_tokens, c.golden->view("prompt_ids").shape[0]);
}

// Parts after the first audio end at the limits of words, of audio and of rows.
TEST_F(BagpiperEngine, WhatFollowsIsBounded) {
  const auto server = engine();
  SpeechRequest request = find("back").request;
  request.writing.max_tokens = 20;  // seven tokens before the audio, up to 19 after it
  const auto words = answered(*server, request);
  EXPECT_EQ(words->wait().reason, FinishReason::kLength);
  EXPECT_TRUE(words->samples() == decoded(find("back")));
  EXPECT_LT(words->text().size(), find("back").words().size());
  request = find("back").request;
  request.terms.max_frames = std::ssize(find("back").speech()[0]) / 8 + 10;
  const auto sound = answered(*server, request);
  EXPECT_EQ(sound->wait().reason, FinishReason::kLength);
  EXPECT_EQ(sound->samples().size(), static_cast<size_t>(request.terms.max_frames) * 320);
  request.terms.max_frames -= 10;
  EXPECT_EQ(answered(*server, request)->wait().reason, FinishReason::kLength);
}

// The parts are the same with few pages, slow readers, full edges and clients that cancel.
TEST_F(BagpiperEngine, PartsAreTheSameUnderAnySchedule) {
  Executor executor(1);
  std::vector<ExpectedAnswer> expected;
  for (const char* name : {"guided_back", "back", "turns"}) {
    expected.push_back(run_alone(model_, find(name).request, executor));
    EXPECT_EQ(expected.back().text, find(name).words());
    EXPECT_TRUE(expected.back().samples == decoded(find(name))) << name;
  }
  const size_t page = KvPool::page_bytes(model_->lm().traits().kv[0]);
  double preemptions = 0;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const size_t pages = seed % 2 == 0 ? 36 : 400;
    preemptions += MixedSchedule(seed, model_, expected, pages * page, executor).run().preemptions;
    if (HasFailure()) FAIL() << "schedule " << seed;
  }
  EXPECT_GT(preemptions, 0) << "no preemption was forced";
}

TEST_F(BagpiperEngine, GuidanceOfOneIsNone) {
  const auto server = engine();
  SpeechRequest request = find("guided").request;
  const std::vector<float> guided = answered(*server, request)->samples();
  request.sampling.guidance.reset();
  EXPECT_TRUE(answered(*server, request)->samples() == guided) << "3 is the published scale";
  request.sampling.guidance = 1.f;
  const std::vector<float> none = answered(*server, request)->samples();
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
    const auto sink = answered(*server, c.request);
    EXPECT_TRUE(sink->samples().empty());
    EXPECT_FALSE(sink->text().empty());
    EXPECT_EQ(sink->text(), c.words());
    EXPECT_EQ(sink->wait().reason, c.stopped ? FinishReason::kStop : FinishReason::kLength);
    EXPECT_EQ(answered(*server, c.request)->text(), sink->text()) << "from shared pages, too";
  }
}

TEST_F(BagpiperEngine, SameSamplesAloneAndInACrowd) {
  SpeechRequest request;
  request.say.text = "Hello there, how are you?";
  request.sampling.seed = 5;
  request.terms.max_frames = 40;
  request.writing.max_tokens = 12;
  request.terms.ignore_stop = true;
  const auto make = [this](const EngineOptions& options) { return engine(options); };
  const std::vector<float> alone =
      expect_the_same_in_a_crowd(make, request, 15, [this](int i, SpeechRequest& other) {
        if (i % 3 != 0)
          other.say.text = "The fox number " + std::to_string(i), other.sampling.seed = i;
        if (i % 3 == 1) other.sampling.guidance = 1.f, other.say.instructions = "A child says";
        if (i % 3 == 2)
          other.sampling.temperature = 0.3f, other.sampling.top_k = 5,
          other.sampling.guidance = 5.f;
        if (i % 5 == 4) other = find(i % 2 == 0 ? "heard" : "turns").request;
        return i % 3 != 0 || i % 5 == 4;
      });
  EXPECT_EQ(alone.size(), 40u * 320);
}

TEST_F(BagpiperEngine, LateTextSoundsTheSameHoweverItComes) {
  SpeechRequest request;
  request.sampling.temperature = 0.f;
  request.terms.max_frames = 100;
  request.writing.max_tokens = 10;
  expect_late_text_sounds_the_same(
      *engine(), request,
      "Hello there, it has been a long time since we have met in this town, has it not? How are "
      "you?");
}

}  // namespace
}  // namespace syrinx::bagpiper
