// Runs the golden checkpoints through the whole engine: ESPnet's speech and text with and without
// guidance, words before speech in one answer, the same samples alone and among others.
#include "codec/qwen3_audio_fixture.h"
#include "engine/testing/listening.h"
#include "families/opuslm/fixture.h"

namespace syrinx::opuslm {
namespace {

class OpusLmEngine : public testing::Test {
 protected:
  OpusLmEngine() : cases_(load_cases()) {}

  std::unique_ptr<Engine> engine(bool dialogue = false, EngineOptions options = {}) {
    options.threads = 2;
    options.max_unread_s = 1e9;
    options.repetition_s = 0;
    const ModelDir& dir = dialogue ? voiced_ : plain_;
    return std::make_unique<Engine>(load_as<OpusLm>({dir.path(), "tiny"}), options);
  }
  const Case& find(const std::string& name) const {
    for (const Case& c : cases_)
      if (c.name == name) return c;
    throw std::out_of_range(name);
  }
  /// Decodes golden frames with the codec, which has its own parity test.
  std::vector<float> decoded(const Case& c, const char* name = "frames") const {
    const OpusLm model({plain_.path(), "x"});
    const std::vector<int32_t> codes = ints(c.golden->view(name));
    Runner runner(model);
    EspnetCodecState state = model.codec().open();
    const int64_t frames = std::ssize(codes) / 8;
    std::vector<float> out(static_cast<size_t>(frames * 320));
    const EspnetCodecJob job{&state, codes, frames, true, out};
    model.codec().run(runner.context(), {&job, 1});
    return out;
  }

  std::vector<Case> cases_;
  ModelDir plain_, voiced_{true};
};

TEST_F(OpusLmEngine, ReadsAsEspnet) {
  const auto server = engine();
  for (const char* name : {"fox", "short", "clone", "longvoice"}) {
    const Case& c = find(name);
    EXPECT_TRUE(answered(*server, c.request)->samples() == decoded(c)) << name;
  }
}

TEST_F(OpusLmEngine, GuidesAsByHand) {
  const auto server = engine();
  const Case& c = find("guided");
  EXPECT_TRUE(answered(*server, c.request)->samples() == decoded(c));
  SpeechRequest request = c.request;
  request.sampling.guidance.reset();
  const std::vector<float> none = answered(*server, request)->samples();
  request.sampling.guidance = 1.f;
  EXPECT_TRUE(answered(*server, request)->samples() == none);
  EXPECT_FALSE(none == decoded(c));
}

TEST_F(OpusLmEngine, WritesWhatItHears) {
  const auto server = engine();
  const Case& c = find("heard");
  const auto sink = answered(*server, c.request);
  EXPECT_EQ(sink->text(), c.answer);
  EXPECT_TRUE(sink->samples().empty());
  EXPECT_EQ(sink->wait().reason, FinishReason::kStop);
}

TEST_F(OpusLmEngine, WritesRecordingsDown) {
  const ModelDir dir(false, true);
  EngineOptions options;
  options.threads = 2;
  options.repetition_s = 0;
  Engine server(load_as<OpusLm>({dir.path(), "tiny"}), options);
  auto recording =
      std::make_shared<Recording>(Recording{fixture::golden_signal(20111, 20111), 16000});
  const SpeechRequest asked = server.pipeline().dictation({recording}).take();
  const std::string answer =
      nlohmann::json::parse(read_file(golden_path("hearing.json"), 1 << 10))["answer"];
  EXPECT_EQ(answered(server, asked)->text(), answer);
  // Requests to read aloud and several dialogues run at the same time and do not affect each other.
  const Case& c = find("short");
  std::vector<std::shared_ptr<Reader>> heard, read;
  for (int i = 0; i < 4; ++i) {
    heard.push_back(ask(server, asked));
    read.push_back(ask(server, c.request));
  }
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(heard[i]->wait().reason, FinishReason::kStop) << heard[i]->wait().error.message;
    EXPECT_EQ(heard[i]->text(), answer);
    EXPECT_NE(read[i]->wait().reason, FinishReason::kError);
    EXPECT_TRUE(read[i]->samples() == decoded(c));
  }
}

/// Rows run while the rest of a recording is still encoded. The result is the same as with the
/// whole recording.
TEST_F(OpusLmEngine, HearsAllOfALongRecording) {
  const ModelDir dir(false, true);
  EngineOptions options;
  options.threads = 2;
  options.repetition_s = 0;
  Engine server(load_as<OpusLm>({dir.path(), "tiny"}), options);
  auto recording =
      std::make_shared<Recording>(Recording{fixture::golden_signal(5 * 16000, 5), 16000});
  SpeechRequest expected = server.pipeline().dictation({recording}).take();
  expected.terms.ignore_stop = true;
  expected.writing.max_tokens = 20;
  expected.sampling.temperature = 1.f;  // these weights write nothing with greedy sampling
  const VoiceEncoder& ears = *server.pipeline().voice_encoder();
  const auto encoding = ears.open(*recording);
  fixture::Bench bench(1);
  VoiceEncoding* const batch[] = {encoding.get()};
  while (!encoding->done()) ears.run(bench.ctx, batch);
  auto hearing = std::make_shared<Hearing>();
  hearing->frames = ints(*encoding->take().find("codes"));
  EXPECT_GT(std::ssize(hearing->frames), 9 * 128) << "the recording must exceed one chunk";
  SpeechRequest given = expected;
  given.writing.recordings.clear();
  given.task = hearing;
  const std::string answer = answered(server, given)->text();
  EXPECT_FALSE(answer.empty());
  EXPECT_EQ(answered(server, expected)->text(), answer);
}

TEST_F(OpusLmEngine, AnswersInWordsThenByVoice) {
  const auto server = engine(true);
  for (const char* name : {"spoken", "voiced"}) {
    const Case& c = find(name);
    SpeechRequest request = c.request;
    const auto sink = answered(*server, request);
    EXPECT_TRUE(sink->samples() == decoded(c, "speech_frames")) << name;
    EXPECT_FALSE(sink->text().empty());
    EXPECT_EQ(sink->late_pieces(), 0) << "words come first";
    EXPECT_EQ(sink->wait().reason, FinishReason::kLength) << "the words were cut, not the audio";
    request.writing.text_only = true;
    const auto words = answered(*server, request);
    EXPECT_TRUE(words->samples().empty());
    EXPECT_FALSE(words->text().empty());
  }
}

/// The companion of an answer's speech has pads instead of all earlier rows, so requests share
/// these rows.
TEST_F(OpusLmEngine, PadsOfCompanionsAreRunOnce) {
  const auto server = engine(true);
  SpeechRequest request = find("spoken").request;
  request.sampling.guidance = 2.f;
  request.sampling.temperature = 1.f;
  request.terms.ignore_stop = true;
  request.writing.max_tokens = 90;  // more rows than the two prompts have in common
  const auto rows_of = [&](uint64_t seed) {
    request.sampling.seed = seed;
    const Counter& rows = server->metrics().stages[server->pipeline().graph().writer()].units;
    const double before = rows.value();
    const auto sink = answered(*server, request);
    EXPECT_NE(sink->wait().reason, FinishReason::kError) << sink->wait().error.message;
    return std::pair(rows.value() - before, sink->text());
  };
  const auto [first, words] = rows_of(1);
  const auto [again, others] = rows_of(2);
  EXPECT_NE(words, others);
  EXPECT_LE(again, first - request.writing.max_tokens)
      << "one row per word, and the rows of the prompt";
}

}  // namespace
}  // namespace syrinx::opuslm
