// Compares transcripts of whole recordings, through the recogniser and an engine, with the authors'
// transcribe(), and tests the Recogniser interface.
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <fstream>
#include <functional>
#include <future>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "codec/qwen3_audio_fixture.h"
#include "ears/ears.h"
#include "ears/notes.h"
#include "ears/repeated_passes.h"
#include "ears/silero_fixture.h"
#include "ears/transcript_text.h"
#include "ears/whisper_fixture.h"
#include "ears/whisper_recogniser.h"
#include "engine/testing/idle.h"
#include "io/test_dir.h"
#include "model/toy/toy.h"

namespace syrinx {
namespace {

using nlohmann::json;

std::shared_ptr<Engine> whisper_engine(const std::string& name, int threads = 2,
                                       int max_requests = 256) {
  EngineOptions options;
  options.threads = threads;
  options.max_requests = max_requests;
  return std::make_shared<Engine>(
      load_as<whisper::Whisper>({whisper_checkpoint(name), "whisper", WeightType::kF32}), options);
}

std::vector<float> whisper_recording(const json& r) {
  const auto count = static_cast<int64_t>(r["seconds"].get<double>() * 16000);
  return fixture::golden_signal(count, r["seed"], r["swell"]);
}

/// Return the options of a case: for the recogniser and, below, for a recording.
WhisperOptions loop_options(const json& o) {
  WhisperOptions out;
  out.most_compression = o.value("compression_ratio_threshold", 2.4);
  out.least_logprob = o.value("logprob_threshold", -1.0);
  out.most_no_speech = o.value("no_speech_threshold", 0.6);
  out.condition_on_text = o.value("condition_on_previous_text", true);
  out.keep_best = false;
  return out;
}

ListenOptions listen_options(const json& o) {
  ListenOptions out;
  out.language = o.value("language", "");
  out.prompt = o.value("initial_prompt", "");
  out.translate = o.value("task", "") == "translate";
  const json temperature = o.value("temperature", json(0.0));
  out.temperatures = temperature.is_array() ? temperature.get<std::vector<float>>()
                                            : std::vector<float>{temperature.get<float>()};
  return out;
}

void expect_transcript(const Transcript& got, const json& want) {
  EXPECT_EQ(got.language, want["language"].get<std::string>());
  std::vector<json> kept;  // without empty segments, which the authors keep
  for (const json& segment : want["segments"])
    if (!segment["tokens"].empty()) kept.push_back(segment);
  ASSERT_EQ(got.segments.size(), kept.size());
  for (size_t i = 0; i < kept.size(); ++i) {
    const TranscriptSegment& segment = got.segments[i];
    SCOPED_TRACE(i);
    EXPECT_EQ(segment.tokens, kept[i]["tokens"].get<std::vector<int32_t>>());
    EXPECT_EQ(segment.text, kept[i]["text"].get<std::string>());
    EXPECT_NEAR(segment.start_s, kept[i]["start"].get<double>(), 1e-9);
    EXPECT_NEAR(segment.end_s, kept[i]["end"].get<double>(), 1e-9);
    EXPECT_FLOAT_EQ(segment.temperature, kept[i]["temperature"].get<float>());
    EXPECT_NEAR(segment.avg_logprob, kept[i]["avg_logprob"].get<double>(), 1e-4);
    EXPECT_NEAR(segment.compression_ratio, kept[i]["compression_ratio"].get<double>(), 1e-6);
    EXPECT_NEAR(segment.no_speech_prob, kept[i]["no_speech_prob"].get<double>(), 1e-5);
  }
}

class WhisperWhole : public testing::TestWithParam<const char*> {
 protected:
  const json cases_ =
      json::parse(std::ifstream(whisper_checkpoint(GetParam()) + "/golden/cases.json"));
};

TEST_P(WhisperWhole, AsTheAuthorsTranscribe) {
  std::vector<std::vector<float>> recordings;
  for (const json& each : cases_["recordings"]) recordings.push_back(whisper_recording(each));
  // All recordings run together on one engine, so that their windows share batches.
  const auto engine = whisper_engine(GetParam());
  std::vector<std::shared_ptr<Recogniser>> recognisers;
  std::vector<std::shared_ptr<Notes>> notes;
  std::vector<std::unique_ptr<Listener>> listeners;
  for (const json& c : cases_["whole"]) {
    recognisers.push_back(whisper_recogniser(engine, loop_options(c["options"])));
    notes.push_back(std::make_shared<Notes>());
    auto listener = recognisers.back()->open(listen_options(c["options"]), notes.back());
    ASSERT_TRUE(listener.ok());
    const std::vector<float>& all = recordings[c["recording"].get<size_t>()];
    for (size_t at = 0; at < all.size(); at += 50'001)
      listener.value()->hear(std::span(all).subspan(at, std::min<size_t>(50'001, all.size() - at)));
    listener.value()->end();
    listeners.push_back(listener.take());
  }
  for (size_t i = 0; i < notes.size(); ++i) {
    SCOPED_TRACE(cases_["whole"][i]["options"].dump());
    const auto& result = notes[i]->wait(300);
    ASSERT_TRUE(result.ok()) << result.error().message;
    expect_transcript(result.value(), cases_["whole"][i]);
    EXPECT_EQ(notes[i]->segments.size(), result.value().segments.size());
    EXPECT_DOUBLE_EQ(notes[i]->heard_s, result.value().duration_s);
    const json usage = json::parse(usage_json(result.value()));
    EXPECT_EQ(usage["type"], "duration") << "as OpenAI's whisper-1";
  }
  listeners.clear();
}

TEST_P(WhisperWhole, WordsAsTheAuthorsTimeThem) {
  const json cases =
      json::parse(std::ifstream(whisper_checkpoint(GetParam()) + "/golden/words.json"));
  const auto engine = whisper_engine(GetParam());
  std::vector<std::shared_ptr<Recogniser>> recognisers;
  std::vector<std::shared_ptr<Notes>> notes;
  std::vector<std::unique_ptr<Listener>> listeners;
  for (const json& c : cases["whole"]) {
    recognisers.push_back(whisper_recogniser(engine, loop_options(c["options"])));
    EXPECT_TRUE(recognisers.back()->info().word_times);
    notes.push_back(std::make_shared<Notes>());
    ListenOptions options = listen_options(c["options"]);
    options.word_times = true;
    auto listener = recognisers.back()->open(options, notes.back());
    ASSERT_TRUE(listener.ok());
    listener.value()->hear(whisper_recording(cases["recordings"][c["recording"].get<size_t>()]));
    listener.value()->end();
    listeners.push_back(listener.take());
  }
  for (size_t i = 0; i < notes.size(); ++i) {
    SCOPED_TRACE(cases["whole"][i]["options"].dump());
    const auto& result = notes[i]->wait(300);
    ASSERT_TRUE(result.ok()) << result.error().message;
    std::vector<json> kept;
    for (const json& segment : cases["whole"][i]["segments"])
      if (!segment["tokens"].empty()) kept.push_back(segment);
    ASSERT_EQ(result.value().segments.size(), kept.size());
    for (size_t s = 0; s < kept.size(); ++s) {
      const TranscriptSegment& segment = result.value().segments[s];
      SCOPED_TRACE(s);
      EXPECT_EQ(segment.tokens, kept[s]["tokens"].get<std::vector<int32_t>>());
      EXPECT_NEAR(segment.start_s, kept[s]["start"].get<double>(), 1e-3);
      EXPECT_NEAR(segment.end_s, kept[s]["end"].get<double>(), 1e-3);
      ASSERT_EQ(segment.words.size(), kept[s]["words"].size());
      for (size_t w = 0; w < segment.words.size(); ++w) {
        const json& want = kept[s]["words"][w];
        EXPECT_EQ(segment.words[w].word, want[0].get<std::string>());
        EXPECT_NEAR(segment.words[w].start_s, want[1].get<double>(), 1e-3);
        EXPECT_NEAR(segment.words[w].end_s, want[2].get<double>(), 1e-3);
        EXPECT_NEAR(segment.words[w].probability, want[3].get<double>(), 1e-4);
      }
    }
  }
  listeners.clear();
}

/// Without an engine, the loop must request as many windows as the authors' code.
TEST_P(WhisperWhole, NoWindowMoreThanTheAuthors) {
  const auto model = std::dynamic_pointer_cast<const whisper::Whisper>(
      load_as<whisper::Whisper>({whisper_checkpoint(GetParam()), "whisper", WeightType::kF32}));
  const json& c = cases_["whole"][1];
  WhisperOptions options = loop_options(c["options"]);
  options.language = c["options"]["language"];
  WhisperLoop loop(*model, options);
  loop.hear(whisper_recording(cases_["recordings"][0]), true);
  EXPECT_FALSE(loop.through());
  EngineOptions two_threads;
  two_threads.threads = 2;
  Engine engine(model, two_threads);
  while (const auto task = loop.next(true)) {
    struct Wait : Sink {
      void audio(std::span<const float>) override {}
      void finished(const Outcome&) override { done.set_value(); }
      std::promise<void> done;
    };
    const auto sink = std::make_shared<Wait>();
    SpeechRequest request;
    request.task = task;
    request.sampling.seed = loop.seed();
    ASSERT_TRUE(engine.submit(request, sink).ok());
    sink->done.get_future().wait();
    loop.take();
  }
  EXPECT_TRUE(loop.through());
  EXPECT_EQ(loop.windows(), c["windows"].get<int>());
}

INSTANTIATE_TEST_SUITE_P(Goldens, WhisperWhole, testing::Values("small", "large"),
                         [](const auto& each) { return std::string(each.param); });

TEST(WhisperRecogniser, LiveOnesAreWrittenDownWhileTheyAreHeard) {
  const auto recogniser = whisper_recogniser(whisper_engine("large"));
  const auto notes = std::make_shared<Notes>();
  const auto listener =
      recogniser->open({.language = "en", .temperatures = {0}, .live = true}, notes);
  listener.value()->hear(fixture::golden_signal(16000 * 40, 7));
  for (int i = 0; i < 1000; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (notes->heard_s > 0) break;
  }
  EXPECT_GT(notes->heard_s, 0);
  listener.value()->end();
  EXPECT_TRUE(notes->wait(300).ok());
}

/// A pass that begins in the pause must give the transcript that the listener would give.
TEST(WhisperRecogniser, APassThatBeginsInAPauseChangesNothing) {
  const std::shared_ptr<Recogniser> recogniser = whisper_recogniser(whisper_engine("small"));
  const std::vector<float> said = fixture::golden_signal(40'000, 5);
  const std::vector<float> silence(8'000, 0.f);
  const ListenOptions options{.temperatures = {0}, .scores = true, .live = true};
  const auto whole = std::make_shared<Notes>(), early = std::make_shared<Notes>();
  auto listener = recogniser->open(options, whole);
  ASSERT_TRUE(listener.ok());
  listener.value()->hear(said);
  listener.value()->end();
  ASSERT_TRUE(whole->wait().ok());
  auto passing = listen_in_passes(recogniser, options, early, false);
  ASSERT_TRUE(passing.ok());
  for (size_t at = 0; at < said.size(); at += 5'000) {
    passing.value()->hear(std::span(said).subspan(at, 5'000));
  }
  passing.value()->pause(true);
  passing.value()->hear(silence);
  passing.value()->end();
  ASSERT_TRUE(early->wait().ok());
  ASSERT_FALSE(whole->segments.empty());
  ASSERT_EQ(early->segments.size(), whole->segments.size());
  for (size_t i = 0; i < whole->segments.size(); ++i) {
    EXPECT_EQ(early->segments[i].tokens, whole->segments[i].tokens);
    EXPECT_EQ(early->segments[i].avg_logprob, whole->segments[i].avg_logprob);
  }
  EXPECT_EQ(early->wait().value().duration_s, whole->wait().value().duration_s);
  EXPECT_EQ(early->wait().value().language, whole->wait().value().language);
}

/// The prediction counts the waiting speakers and uses the measured time of a pass.
TEST(WhisperRecogniser, SaysHowFarItIsBehind) {
  const auto engine = whisper_engine("small");
  const std::shared_ptr<Recogniser> recogniser = whisper_recogniser(engine);
  const ListenOptions options{.language = "en", .temperatures = {0}, .live = true};
  const auto say = [&](std::unique_ptr<Listener>& listener) {
    const auto notes = std::make_shared<Notes>();
    listener = recogniser->open(options, notes).take();
    listener->hear(fixture::golden_signal(20'000, 5));
    return notes;
  };
  std::unique_ptr<Listener> first;
  const auto heard = say(first);
  EXPECT_EQ(first->wait_s(), 0);
  first->end();
  ASSERT_TRUE(heard->wait().ok());
  EXPECT_EQ(first->wait_s(), 0);
  std::vector<std::unique_ptr<Listener>> listeners(3);
  std::vector<std::shared_ptr<Notes>> notes;
  for (auto& listener : listeners) notes.push_back(say(listener));
  EXPECT_EQ(listeners[2]->wait_s(), 0) << "no speaker waits yet";
  listeners[0]->end();
  const double one_s = listeners[2]->wait_s();
  EXPECT_GT(one_s, 0);
  listeners[0]->cancel();
  EXPECT_EQ(listeners[2]->wait_s(), 0);
  for (size_t i = 1; i < listeners.size(); ++i) listeners[i]->end();
  for (const auto& each : notes) each->wait();
  EXPECT_EQ(listeners[2]->wait_s(), 0);
  // A pass that begins in a pause delays other speakers, not its own speaker.
  ListenOptions early = options;
  early.background = true;
  const auto pause = std::make_shared<Notes>();
  const auto pausing = recogniser->open(early, pause).take();
  pausing->hear(fixture::golden_signal(20'000, 5));
  pausing->end();
  EXPECT_GT(listeners[2]->wait_s(), 0);
  EXPECT_EQ(pausing->wait_s(), 0);
  pause->wait();
}

/// Turns that end together are transcribed one after another, so that the first one is early.
TEST(WhisperRecogniser, HearsTurnsInTheOrderInWhichTheyEnd) {
  const auto engine = whisper_engine("small", 1);
  const std::shared_ptr<Recogniser> recogniser = whisper_recogniser(engine);
  const ListenOptions options{.language = "en", .temperatures = {0}, .live = true};
  std::mutex mutex;
  std::vector<size_t> order;
  struct Noted final : TranscriptSink {
    explicit Noted(std::function<void()> note) : note_(std::move(note)) {}
    void segment(const TranscriptSegment&) override {}
    void finished(Result<Transcript>) override {
      note_();
      ended.set_value();
    }
    const std::function<void()> note_;
    std::promise<void> ended;
  };
  std::vector<std::unique_ptr<Listener>> listeners;
  std::vector<std::shared_ptr<Noted>> sinks;
  for (size_t i = 0; i < 5; ++i) {
    sinks.push_back(std::make_shared<Noted>([&, i] {
      const std::lock_guard lock(mutex);
      order.push_back(i);
    }));
    listeners.push_back(recogniser->open(options, sinks[i]).take());
    listeners[i]->hear(fixture::golden_signal(i == 0 ? 400'000 : 20'000, 5));
  }
  for (auto& listener : listeners) listener->end();
  EXPECT_EQ(listeners[0]->delay_s(), 0);
  EXPECT_GT(listeners[4]->delay_s(), listeners[3]->delay_s());
  EXPECT_GT(listeners[3]->delay_s(), 0);
  listeners[2]->cancel();
  for (const auto& sink : sinks) sink->ended.get_future().wait();
  std::erase(order, 2u);
  EXPECT_EQ(order, (std::vector<size_t>{0, 1, 3, 4}));
}

TEST(WhisperRecogniser, NothingAndNoise) {
  const auto recogniser = whisper_recogniser(whisper_engine("small"));
  for (const auto& samples :
       {std::vector<float>{}, std::vector<float>(99, 2.f), std::vector<float>(16000, NAN)}) {
    const auto notes = std::make_shared<Notes>();
    const auto listener = recogniser->open({.language = "de"}, notes);
    listener.value()->hear(samples);
    listener.value()->end();
    const auto& result = notes->wait(300);
    ASSERT_TRUE(result.ok()) << result.error().message;
    EXPECT_EQ(result.value().language, "de");
  }
}

TEST(WhisperRecogniser, LooksAtNoWindowWithoutAVoice) {
  const auto engine = whisper_engine("small");
  const auto segments = [&](float voice) {
    const TestDir dir;
    dir.write("vad.safetensors", fixture::made_weights(voice));
    const auto recogniser =
        whisper_recogniser(engine, {.vad = SileroVad::load(dir.path("vad.safetensors"))});
    const auto notes = std::make_shared<Notes>();
    const auto listener = recogniser->open({.language = "en"}, notes).take();
    const auto steps = engine->stats().ar_steps;
    listener->hear(fixture::golden_signal(16000 * 65, 7));
    listener->end();
    const auto& result = notes->wait(60);
    EXPECT_TRUE(result.ok());
    EXPECT_DOUBLE_EQ(result.value().duration_s, 65);
    EXPECT_EQ(engine->stats().ar_steps == steps, voice < 0) << "asked the model";
    return result.value().segments.size();
  };
  EXPECT_EQ(segments(-50), 0u);
  EXPECT_GT(segments(50), 0u);
}

TEST(WhisperRecogniser, CancelsAndGoesAway) {
  const auto engine = whisper_engine("small", 1);
  auto recogniser = whisper_recogniser(engine);
  std::vector<std::shared_ptr<Notes>> notes;
  std::vector<std::unique_ptr<Listener>> listeners;
  const auto noise = fixture::golden_signal(16000 * 65, 7);
  for (int i = 0; i < 4; ++i) {
    notes.push_back(std::make_shared<Notes>());
    auto listener = recogniser->open({.language = "en"}, notes.back());
    listener.value()->hear(noise);
    if (i != 1) listener.value()->end();
    listeners.push_back(listener.take());
  }
  listeners[0]->cancel();
  listeners[0]->cancel();
  listeners[1].reset();  // destroyed without end()
  EXPECT_EQ(notes[0]->wait(300).error().code, ErrorCode::kCancelled);
  EXPECT_EQ(notes[1]->wait(300).error().code, ErrorCode::kCancelled);
  listeners.clear();
  recogniser.reset();
  for (const auto& each : notes) EXPECT_EQ(each->wait(300).error().code, ErrorCode::kCancelled);
  EXPECT_TRUE(wait_until_idle(*engine, 10));
}

/// With more recordings than the engine accepts at a time, windows wait, but none is lost.
TEST(WhisperRecogniser, WaitsForRoomInTheEngine) {
  const auto engine = whisper_engine("small", 1, 2);
  const auto recogniser = whisper_recogniser(engine);
  const auto noise = fixture::golden_signal(16000 * 3, 7);
  std::vector<std::shared_ptr<Notes>> notes;
  std::vector<std::unique_ptr<Listener>> listeners;
  for (int i = 0; i < 7; ++i) {
    notes.push_back(std::make_shared<Notes>());
    auto listener = recogniser->open({.language = "en", .temperatures = {0}}, notes.back());
    listener.value()->hear(noise);
    listener.value()->end();
    listeners.push_back(listener.take());
  }
  std::string text;
  for (const auto& each : notes) {
    ASSERT_TRUE(each->wait(300).ok()) << each->wait(300).error().message;
    if (text.empty()) text = each->wait(300).value().text();
    EXPECT_EQ(each->wait(300).value().text(), text);
  }
}

/// Attempts that run together have the results of attempts that the engine accepts one by one.
TEST(WhisperRecogniser, AttemptsTogetherEqualAttemptsOneByOne) {
  const auto noise = fixture::golden_signal(16000 * 3, 7);
  WhisperOptions options;
  options.least_logprob = 0, options.most_no_speech = 1;  // every attempt looks wrong
  std::vector<std::string> texts;
  for (const int most : {3, 4, 256}) {
    const auto engine = whisper_engine("small", 1, most);
    const auto recogniser = whisper_recogniser(engine, options);
    std::vector<std::shared_ptr<Notes>> notes;
    std::vector<std::unique_ptr<Listener>> listeners;
    for (int i = 0; i < 3; ++i) {
      notes.push_back(std::make_shared<Notes>());
      auto listener = recogniser->open({.language = "en"}, notes.back());
      listener.value()->hear(noise);
      listener.value()->end();
      listeners.push_back(listener.take());
    }
    for (const auto& each : notes) {
      ASSERT_TRUE(each->wait(300).ok()) << each->wait(300).error().message;
      texts.push_back(each->wait(300).value().text());
    }
  }
  EXPECT_FALSE(texts[0].empty());
  EXPECT_EQ(texts, std::vector(texts.size(), texts[0]));
}

TEST(WhisperRecogniser, IsOfWhisperOnly) {
  const auto engine = std::make_shared<Engine>(make_toy_pipeline());
  EXPECT_EQ(whisper_recogniser(engine), nullptr);
  const auto ours = whisper_recogniser(whisper_engine("large"));
  EXPECT_EQ(ours->info().family, "whisper");
  EXPECT_TRUE(ours->info().detects_language);
  EXPECT_GT(ours->info().bytes, 0u);
}

TEST(WhisperRecogniser, OpensACheckpoint) {
  LoadOptions options;
  options.model = whisper_checkpoint("large");
  options.engine.threads = 1;
  EXPECT_EQ(open_recogniser(options)->info().name, "large");
  options.model = SYRINX_BINARY_DIR "/parity/llm/qwen3";
  try {
    open_recogniser(options);
    ADD_FAILURE();
  } catch (const LoadError& error) {
    EXPECT_NE(std::string(error.what()).find("family 'llm'"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace syrinx
