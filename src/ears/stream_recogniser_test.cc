// Tests the recogniser of a model that writes words while samples arrive, with an engine. Its text
// must equal that of transformers' code however the samples are divided, alone and with other
// recordings. Hypotheses must only grow.
#include "ears/stream_recogniser.h"

#include <future>

#include "audio/resampler.h"
#include "ears/ears.h"
#include "ears/repeated_passes.h"
#include "engine/testing/idle.h"
#include "families/checkpoint_copy.h"
#include "families/kyutai_stt/pipeline.h"
#include "families/live/fixture.h"
#include "families/transducer/pipeline.h"
#include "families/voxtral_realtime/pipeline.h"

namespace syrinx {
namespace {

using live::samples_of;

nlohmann::json cases_of(const std::string& name) { return live::cases_of("transducer", name); }

/// Returns an engine of a golden checkpoint; `folder`: that of its parity tests.
template <typename Model = transducer::Transducer>
std::shared_ptr<Engine> listening_engine(const std::string& name, EngineOptions options = {},
                                         const std::string& folder = "transducer") {
  options.threads = 2;
  return std::make_shared<Engine>(
      load_as<Model>({live::golden_path(folder, name + "/checkpoint"), name}), options);
}

/// Collects what a recogniser reports about one recording.
class HeardWords final : public TranscriptSink {
 public:
  void partial(std::string_view text) override {
    const std::lock_guard lock(mutex_);
    const bool apart = !settled_.empty() && !text.starts_with(' ');
    hypotheses_.push_back(settled_ + (apart ? " " : "") + std::string(text));
    came_.notify_all();
  }
  void segment(const TranscriptSegment& segment) override {
    const std::lock_guard lock(mutex_);
    settled_ += segment.text;
    hypotheses_.push_back(settled_);
  }
  void heard(double seconds) override {
    const std::lock_guard lock(mutex_);
    heard_s_ = seconds;
  }
  void finished(Result<Transcript> transcript) override {
    finished_.set_value(std::move(transcript));
  }

  Result<Transcript> wait() { return finished_.get_future().get(); }
  /// Waits for the first hypothesis.
  std::string first() {
    std::unique_lock lock(mutex_);
    came_.wait_for(lock, std::chrono::seconds(60), [&] { return !hypotheses_.empty(); });
    return hypotheses_.empty() ? "" : hypotheses_.front();
  }
  std::vector<std::string> hypotheses() const {
    const std::lock_guard lock(mutex_);
    return hypotheses_;
  }
  void done(bool done) override {
    const std::lock_guard lock(mutex_);
    EXPECT_FALSE(hypotheses_.empty());  // text precedes
    done_.push_back(done);
  }
  double heard_s() const {
    const std::lock_guard lock(mutex_);
    return heard_s_;
  }
  std::vector<bool> dones() const {
    const std::lock_guard lock(mutex_);
    return done_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable came_;
  std::vector<std::string> hypotheses_;
  std::string settled_;
  double heard_s_ = 0;
  std::vector<bool> done_;
  std::promise<Result<Transcript>> finished_;
};

void give(Listener& listener, std::span<const float> samples, size_t each) {
  for (size_t at = 0; at < samples.size(); at += each) {
    listener.hear(samples.subspan(at, std::min(each, samples.size() - at)));
  }
  listener.end();
}

std::string wanted(const nlohmann::json& c, int lookahead) {
  for (const auto& run : c["runs"])
    if (run["lookahead"].is_null() ? lookahead == 0 : run["lookahead"] == lookahead)
      return run["text"];
  return "?";
}

TEST(StreamRecogniser, WritesTheTextOfTheAuthorsCode) {
  for (const char* name : {"small", "other"}) {
    const auto recogniser = recogniser_of(listening_engine(name));
    ASSERT_NE(recogniser, nullptr);
    EXPECT_TRUE(recogniser->info().streams && recogniser->info().grows);
    for (const auto& c : cases_of(name)) {
      const std::vector<float> samples = samples_of(c);
      // A complete recording uses the checkpoint's lookahead, live audio the largest up to 0.6 s.
      for (const bool live : {false, true}) {
        const int lookahead = name == std::string("small") ? 3 : live ? 5 : 2;
        for (const size_t each : {size_t{333}, samples.size()}) {
          auto sink = std::make_shared<HeardWords>();
          auto listener = recogniser->open(
              {.word_times = true, .scores = true, .live = live, .follow = !live}, sink);
          ASSERT_TRUE(listener.ok());
          give(*listener.value(), samples, each);
          const Result<Transcript> heard = sink->wait();
          ASSERT_TRUE(heard.ok()) << heard.error().message;
          EXPECT_EQ(heard.value().text(), wanted(c, lookahead)) << name << live << each;
          EXPECT_NEAR(heard.value().duration_s, double(samples.size()) / kHearingRate, 1e-9);
          EXPECT_NEAR(sink->heard_s(), heard.value().duration_s, 1e-9);
          std::string before;
          for (const std::string& text : sink->hypotheses()) {
            EXPECT_TRUE(text.starts_with(before)) << before << " | " << text;
            before = text;
          }
          double last_s = 0;
          for (const TranscriptSegment& segment : heard.value().segments) {
            EXPECT_GE(segment.start_s, last_s);
            EXPECT_LE(segment.end_s, heard.value().duration_s + 0.1);
            std::string pieces;
            for (const ScoredPiece& piece : segment.pieces) {
              pieces += piece.bytes;
              EXPECT_LE(piece.logprob, 0);
            }
            EXPECT_EQ(pieces, segment.text);
            ASSERT_FALSE(segment.words.empty());
            for (const TranscriptWord& word : segment.words) {
              EXPECT_LT(word.start_s, word.end_s);
              EXPECT_GE(word.start_s, last_s);
              EXPECT_GT(word.probability, 0);
              last_s = word.start_s;
            }
          }
        }
      }
    }
  }
}

TEST(StreamRecogniser, WritesWordsBeforeTheRecordingEnds) {
  const auto recogniser = recogniser_of(listening_engine("small"));
  const auto c = cases_of("small")[0];
  const std::vector<float> samples = samples_of(c);
  auto sink = std::make_shared<HeardWords>();
  // A live listener of this recogniser streams, so no passes are repeated.
  auto listener = listen_in_passes(recogniser, {.live = true}, sink, true);
  ASSERT_TRUE(listener.ok());
  const auto half = samples.size() / 2;
  listener.value()->hear(std::span(samples).first(half));
  EXPECT_TRUE(wanted(c, 3).starts_with(sink->first()));
  EXPECT_FALSE(sink->first().empty());
  listener.value()->hear(std::span(samples).subspan(half));
  listener.value()->end();
  EXPECT_EQ(sink->wait().value().text(), wanted(c, 3));
}

TEST(StreamRecogniser, ManyStreamsAtOnceHaveTheTextOfOne) {
  EngineOptions options;
  options.max_batch = 4;
  const auto engine = listening_engine("small", options);
  const auto recogniser = recogniser_of(engine);
  const auto cases = cases_of("small");
  std::vector<std::shared_ptr<HeardWords>> sinks;
  std::vector<std::unique_ptr<Listener>> listeners;
  std::vector<std::vector<float>> samples;
  for (int i = 0; i < 9; ++i) {
    samples.push_back(samples_of(cases[i % 2]));
    sinks.push_back(std::make_shared<HeardWords>());
    listeners.push_back(recogniser->open({.live = true}, sinks.back()).take());
  }
  for (size_t at = 0; at < 160 * 301; at += 1000) {
    for (size_t i = 0; i < listeners.size(); ++i) {
      if (at >= samples[i].size()) continue;
      listeners[i]->hear(
          std::span(samples[i]).subspan(at, std::min<size_t>(1000, samples[i].size() - at)));
      if (at + 1000 >= samples[i].size()) listeners[i]->end();
    }
  }
  for (size_t i = 0; i < sinks.size(); ++i) {
    EXPECT_EQ(sinks[i]->wait().value().text(), wanted(cases[i % 2], 3)) << i;
  }
}

/// The words of this model lag behind the samples, so silence follows a recording. One checkpoint
/// expects samples at 16 kHz, the other one at 24 kHz.
TEST(StreamRecogniser, WordsThatLagComeAfterTheEnd) {
  for (const std::string name : {"other", "small"}) {
    const auto recogniser =
        recogniser_of(listening_engine<kyutai_stt::KyutaiStt>(name, {}, "kyutai_stt"));
    ASSERT_NE(recogniser, nullptr);
    for (const auto& c : live::cases_of("kyutai_stt", name)) {
      std::vector<float> samples = samples_of(c);
      if (name == "small") samples = resampled(samples, 24000, kHearingRate);
      std::vector<std::string> texts;
      int timed = 0;  // words with the times of the authors' code
      for (const size_t each : {size_t{333}, samples.size()}) {
        auto sink = std::make_shared<HeardWords>();
        auto listener = recogniser->open({.word_times = true, .live = each == 333}, sink);
        give(*listener.value(), samples, each);
        const Result<Transcript> heard = sink->wait();
        ASSERT_TRUE(heard.ok()) << heard.error().message;
        texts.push_back(heard.value().text());
        const double length_s = double(samples.size()) / kHearingRate;
        EXPECT_NEAR(heard.value().duration_s, length_s, 1e-9);
        double last_s = 0;
        for (const TranscriptSegment& segment : heard.value().segments) {
          ASSERT_FALSE(segment.words.empty());
          EXPECT_EQ(segment.words.back().end_s, segment.end_s);
          for (const TranscriptWord& word : segment.words) {
            EXPECT_LE(word.start_s, word.end_s);
            EXPECT_GE(word.start_s, last_s);
            last_s = word.start_s;
            timed += std::ranges::any_of(c["words"], [&](const auto& their) {
              return std::abs(word.start_s - double(their[1])) < 1e-6 &&
                     std::abs(word.end_s - double(their[2])) < 1e-6;
            });
          }
        }
        EXPECT_LT(last_s, length_s + 1);
      }
      EXPECT_FALSE(texts[0].empty());
      EXPECT_EQ(texts[0], texts[1]);
      if (name == "small") continue;  // its samples were resampled
      EXPECT_EQ(texts[0], c["text"].get<std::string>());
      EXPECT_GE(timed, samples.size() > 5 * kHearingRate ? 2 : 0);
    }
  }
}

/// Copies of the checkpoint have a head of pauses that is certain, because its weights are larger.
TEST(StreamRecogniser, ChangesOfPredictedPausesAreReported) {
  const CheckpointCopy copy(live::golden_path("kyutai_stt", "small/checkpoint"));
  EditableSafetensors weights(copy.dir.path("model.safetensors"));
  auto* head = reinterpret_cast<float*>(weights.data("extra_heads.2.weight"));
  for (int i = 0; i < 6 * 64; ++i) head[i] *= 20;
  weights.write(copy.dir.path("model.safetensors"));
  const auto engine = std::make_shared<Engine>(
      load_as<kyutai_stt::KyutaiStt>({copy.dir.path(), "small"}), EngineOptions());
  const auto recogniser = recogniser_of(engine);
  const std::vector<float> samples =
      resampled(samples_of(live::cases_of("kyutai_stt", "small")[0]), 24000, kHearingRate);
  for (const bool live : {false, true}) {
    auto sink = std::make_shared<HeardWords>();
    const auto listener = recogniser->open({.live = live}, sink).take();
    give(*listener, samples, 333);
    ASSERT_TRUE(sink->wait().ok());
    const std::vector<bool> dones = sink->dones();
    EXPECT_EQ(dones.size() >= 2, live);
    EXPECT_EQ(dones.empty(), !live);
    for (size_t i = 1; i < dones.size(); ++i) EXPECT_NE(dones[i], dones[i - 1]);
  }
}

/// This model writes a word after the whole word was processed, and may write its end id.
TEST(StreamRecogniser, VoxtralWritesTheTextOfTheAuthorsCode) {
  for (const std::string name : {"small", "other"}) {
    const auto recogniser = recogniser_of(
        listening_engine<voxtral_realtime::VoxtralRealtime>(name, {}, "voxtral_realtime"));
    ASSERT_NE(recogniser, nullptr);
    const auto c = live::cases_of("voxtral_realtime", name)[0];  // it has the checkpoint's delay
    const std::vector<float> samples = samples_of(c);
    const std::string text = c["text"];
    std::vector<std::unique_ptr<Listener>> listeners;
    std::vector<std::shared_ptr<HeardWords>> sinks;
    for (const size_t each : {size_t{333}, size_t{7000}, samples.size()}) {
      sinks.push_back(std::make_shared<HeardWords>());
      listeners.push_back(
          recogniser->open({.word_times = true, .live = each == 333}, sinks.back()).take());
      give(*listeners.back(), samples, each);
    }
    for (const auto& sink : sinks) {
      const Result<Transcript> heard = sink->wait();
      ASSERT_TRUE(heard.ok()) << heard.error().message;
      EXPECT_EQ(heard.value().text(), text.substr(text.starts_with(' ') ? 1 : 0)) << name;
      double last_s = 0;
      for (const TranscriptSegment& segment : heard.value().segments) {
        for (const TranscriptWord& word : segment.words) {
          EXPECT_LE(word.start_s, word.end_s);
          EXPECT_GE(word.start_s, last_s);
          EXPECT_LE(word.end_s - word.start_s, 0.8 + 1e-9);
          last_s = word.start_s;
        }
      }
    }
  }
}

TEST(StreamRecogniser, EndsWithoutSamplesAndWhenCancelled) {
  const auto engine = listening_engine("small");
  const auto recogniser = recogniser_of(engine);
  auto sink = std::make_shared<HeardWords>();
  auto listener = recogniser->open({.live = true}, sink);
  listener.value()->end();
  EXPECT_EQ(sink->wait().value().text(), "");
  sink = std::make_shared<HeardWords>();
  listener = recogniser->open({.live = true}, sink);
  listener.value()->hear(samples_of(cases_of("small")[1]));
  listener.value()->cancel();
  EXPECT_EQ(sink->wait().error().code, ErrorCode::kCancelled);
  EXPECT_TRUE(wait_until_idle(*engine, 10));
}

TEST(StreamRecogniser, SamplesThatARequestDoesNotTakeEndIt) {
  const auto engine = listening_engine("small");
  struct Ending final : Sink {
    void audio(std::span<const float>) override {}
    void finished(const Outcome& outcome) override { done.set_value(outcome); }
    std::promise<Outcome> done;
  };
  const SpeechRequest request = engine->pipeline().listening({}).value();
  auto sink = std::make_shared<Ending>();
  auto id = engine->submit(request, sink);
  engine->append_samples(id.value(), std::vector<float>(161), false);
  EXPECT_EQ(sink->done.get_future().get().error.code, ErrorCode::kInvalid);
  sink = std::make_shared<Ending>();
  id = engine->submit_soon(request, sink);  // samples may arrive before the request is opened
  engine->append_samples(id.value(), std::vector<float>(1600), true);
  EXPECT_EQ(sink->done.get_future().get().reason, FinishReason::kStop);
  sink = std::make_shared<Ending>();
  const auto heard = listening_engine("tdt");  // processes all samples at once
  const auto recording =
      std::make_shared<Recording>(Recording{std::vector<float>(16000 * 60), 16000});
  id = heard->submit(heard->pipeline().dictation({recording}).value(), sink);
  heard->append_samples(id.value(), std::vector<float>(160), true);
  EXPECT_EQ(sink->done.get_future().get().error.code, ErrorCode::kUnsupported);
}

/// A Parakeet model needs whole recordings. Its text must also equal that of the authors' code.
TEST(StreamRecogniser, ModelsOfWholeRecordingsAreHeardAsStretches) {
  for (const char* name : {"tdt", "rnnt"}) {
    const auto engine = listening_engine(name);
    EXPECT_EQ(stream_recogniser(engine), nullptr);
    const auto recogniser = recogniser_of(engine);
    ASSERT_NE(recogniser, nullptr);
    EXPECT_FALSE(recogniser->info().streams);
    for (const auto& c : cases_of(name)) {
      auto sink = std::make_shared<HeardWords>();
      auto listener = recogniser->open({}, sink);
      give(*listener.value(), samples_of(c), 1000);
      const Result<Transcript> heard = sink->wait();
      ASSERT_TRUE(heard.ok()) << heard.error().message;
      EXPECT_EQ(heard.value().text(), wanted(c, 0));
    }
  }
}

}  // namespace
}  // namespace syrinx
