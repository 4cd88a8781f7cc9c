// Pauses in a text: each part has the samples of a separate request, with exact silence in between.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/collector.h"
#include "engine/engine.h"
#include "engine/testing/idle.h"
#include "model/toy/toy.h"
#include "text/segment_queue.h"

namespace syrinx {
namespace {

struct Spoken {
  std::vector<float> samples;
  Outcome outcome;
};

class PartsTest : public testing::Test {
 protected:
  /// Sends a request whose text is the first piece. The other pieces follow as late text.
  Spoken speak(const std::vector<std::string>& pieces,
               SpeechRequest request = {.sampling = {.seed = 7}}) {
    auto collector = std::make_shared<Collector>();
    request.say.text = pieces.front();
    request.say.open = pieces.size() > 1;
    const auto id = engine_.submit(request, collector);
    if (!id) return {{}, {.reason = FinishReason::kError, .error = id.error()}};
    for (size_t i = 1; i < pieces.size(); ++i) {
      engine_.append_text(id.value(), pieces[i], i + 1 == pieces.size());
    }
    Spoken out;
    out.outcome = collector->wait();
    out.samples = collector->next(0);
    return out;
  }
  std::vector<float> samples(const std::string& text) {
    const Spoken spoken = speak({text});
    EXPECT_EQ(spoken.outcome.reason, FinishReason::kStop) << spoken.outcome.error.message;
    return spoken.samples;
  }
  std::vector<float> silence(double seconds) const {
    return std::vector<float>(static_cast<size_t>(std::llround(seconds * rate_)));
  }
  static std::vector<float> join(const std::vector<std::vector<float>>& parts) {
    std::vector<float> out;
    for (const auto& part : parts) out.insert(out.end(), part.begin(), part.end());
    return out;
  }

  std::shared_ptr<const Pipeline> toy_ = make_toy_pipeline();
  Engine engine_{toy_, {.threads = 1}};
  const int rate_ = toy_->info().speech.sample_rate;
};

TEST_F(PartsTest, EachSoundsAsAloneWithSilenceBetween) {
  const auto hello = samples("hello "), world = samples(" world"), end = samples("end");
  ASSERT_FALSE(hello.empty());
  const auto whole = join({hello, silence(0.5), world, silence(0.0123), end});
  EXPECT_EQ(samples("hello <break time=\"0.5s\"/> world[pause 12.3ms]end"), whole);
  const Spoken spoken = speak({"hello <break time=\"0.5s\"/> world[pause 12.3ms]end"});
  EXPECT_DOUBLE_EQ(spoken.outcome.audio_s, static_cast<double>(whole.size()) / rate_);
  EXPECT_EQ(spoken.outcome.frames, speak({"hello "}).outcome.frames +
                                       speak({" world"}).outcome.frames +
                                       speak({"end"}).outcome.frames);
}

TEST_F(PartsTest, AtTheEndsAndTogether) {
  const auto a = samples("a "), b = samples(" b");
  EXPECT_EQ(samples("<break time='1s'/>a [pause 1s]. [pause 0.5s] b[pause 2s]!"),
            join({silence(1), a, silence(1.5), b, silence(2)}));
  EXPECT_EQ(samples("[pause 30ms] ... "), silence(0.03));
  EXPECT_EQ(samples("[pause 0s]a "), a);
}

TEST_F(PartsTest, SignsThatTheModelCannotSpeakAreSilent) {
  const auto a = samples("a "), b = samples(" b");
  EXPECT_EQ(samples("\u266a\u266a"), silence(0.2));
  EXPECT_EQ(speak({"\u266a"}).outcome.frames, 0);
  EXPECT_EQ(samples("a [pause 1s]\u266a[pause 2s] b"), join({a, silence(3.2), b}));
  EXPECT_EQ(samples("[pause 1s]\u266a"), silence(1.2));
  const Spoken late = speak({"a ", "[pause 1s]\u266a[pause 1s]", " b"});
  EXPECT_EQ(late.samples, join({a, silence(2.2), b})) << late.outcome.error.message;
  auto collector = std::make_shared<Collector>();
  ASSERT_TRUE(engine_.submit_soon({.say = {.text = "\u266a"}}, collector).ok());
  EXPECT_EQ(collector->wait().reason, FinishReason::kStop);
  EXPECT_EQ(collector->next(0), silence(0.2));
  EXPECT_EQ(speak({""}).outcome.error.param, "input");
  EXPECT_TRUE(wait_until_idle(engine_, 30));
}

TEST_F(PartsTest, SignsOfALateTextAreSilent) {
  EXPECT_EQ(speak({"", "\u266a", ""}).samples, silence(0.2));
  EXPECT_EQ(speak({"\u266a", ""}).samples, silence(0.2));
  EXPECT_EQ(speak({"\u266a", "[pause 1s]b"}).samples, join({silence(1.2), samples("b")}));
  EXPECT_EQ(speak({"", ""}).outcome.error.param, "input");
  EXPECT_TRUE(wait_until_idle(engine_, 30));
}

/// Words that the model cannot speak: an error if the request has nothing else, however it arrives.
TEST_F(PartsTest, WordsThatTheModelCannotSpeakAreRefusedAlone) {
  const std::string words = "\u4f60";
  for (const std::vector<std::string>& pieces :
       std::vector<std::vector<std::string>>{{words},
                                             {words, ""},
                                             {"", words, ""},
                                             {words, "\u266a", ""},
                                             {"\u266a", words},
                                             {"[pause 1s]" + words},
                                             {words + "[pause 1s]" + words},
                                             {words + "[pause 1s]\u266a"},
                                             {"\u266a[pause 1s]" + words, ""},
                                             {words, "[pause 1s]" + words}}) {
    const Spoken spoken = speak(pieces);
    EXPECT_EQ(spoken.outcome.reason, FinishReason::kError) << pieces.front();
    EXPECT_EQ(spoken.outcome.error.message, nothing_to_say().message) << pieces.front();
    EXPECT_TRUE(spoken.samples.empty()) << pieces.front() << ": sound before the refusal";
  }
  EXPECT_TRUE(wait_until_idle(engine_, 30));
}

TEST_F(PartsTest, WordsThatTheModelCannotSpeakAreLeftOutBetweenOthers) {
  const std::string words = "\u4f60";
  const auto a = samples("a "), b = samples(" b");
  EXPECT_EQ(samples("a [pause 1s]" + words + "[pause 2s] b"), join({a, silence(3), b}));
  EXPECT_EQ(samples(words + "[pause 1s] b"), join({silence(1), b}));
  EXPECT_EQ(samples("a [pause 1s]" + words), join({a, silence(1)}));
  EXPECT_EQ(speak({words, "[pause 1s] b"}).samples, join({silence(1), b}));
  EXPECT_EQ(speak({"a ", "[pause 1s]", words, ""}).samples, join({a, silence(1)}));
}

TEST_F(PartsTest, TextThatArrivesInPiecesIsTheSame) {
  const std::string text = "[pause 50ms]one<break time=\"80ms\"/>two <x> three[pause 1ms]";
  const auto whole = samples(text);
  for (const size_t step : {1, 2, 5, 13}) {
    std::vector<std::string> pieces = {""};
    for (size_t at = 0; at < text.size(); at += step) pieces.push_back(text.substr(at, step));
    const Spoken spoken = speak(pieces);
    EXPECT_EQ(spoken.outcome.reason, FinishReason::kStop) << spoken.outcome.error.message;
    EXPECT_EQ(spoken.samples, whole) << step;
  }
  // The last piece of a text may be empty.
  EXPECT_EQ(speak({text, ""}).samples, whole);
  EXPECT_EQ(speak({"", text, ""}).samples, whole);
}

TEST_F(PartsTest, ManyAtATime) {
  std::vector<std::shared_ptr<Collector>> all;
  const std::string text = "some[pause 20ms]words[pause 30ms]more";
  const auto whole = samples(text);
  for (int i = 0; i < 6; ++i) {
    all.push_back(std::make_shared<Collector>());
    ASSERT_TRUE(engine_.submit({.say = {.text = text}, .sampling = {.seed = 7}}, all.back()).ok());
  }
  for (const auto& collector : all) {
    EXPECT_EQ(collector->wait().reason, FinishReason::kStop);
    EXPECT_EQ(collector->next(0), whole);
  }
  EXPECT_TRUE(wait_until_idle(engine_, 30));
}

TEST_F(PartsTest, OpenedLater) {
  const std::string text = "some[pause 20ms]words";
  auto collector = std::make_shared<Collector>();
  ASSERT_TRUE(
      engine_.submit_soon({.say = {.text = text}, .sampling = {.seed = 7}}, collector).ok());
  EXPECT_EQ(collector->wait().reason, FinishReason::kStop);
  EXPECT_EQ(collector->next(0), samples(text));
}

TEST_F(PartsTest, TooLongIsRefused) {
  const Spoken whole = speak({"a[pause 11s]b"});
  EXPECT_EQ(whole.outcome.error.code, ErrorCode::kInvalid);
  EXPECT_EQ(whole.outcome.error.param, "input");
  const Spoken late = speak({"a", "[pause 11s]b"});
  EXPECT_EQ(late.outcome.reason, FinishReason::kError);
  EXPECT_EQ(late.outcome.error.param, "input");
}

TEST_F(PartsTest, BoundsAreForAllParts) {
  const Spoken few =
      speak({"abcd[pause 10ms]efgh"}, {.sampling = {.seed = 7}, .terms = {.max_frames = 6}});
  EXPECT_EQ(few.outcome.reason, FinishReason::kLength);
  EXPECT_LE(few.outcome.frames, 7);
  Engine brief(toy_, {.threads = 1, .max_audio_s = 1.5});
  auto collector = std::make_shared<Collector>();
  ASSERT_TRUE(brief.submit({.say = {.text = "a[pause 9s]b"}}, collector).ok());
  EXPECT_EQ(collector->wait().reason, FinishReason::kLength);
  EXPECT_EQ(collector->next(0).size(), static_cast<size_t>(1.5 * rate_));
}

TEST_F(PartsTest, ACancelledPauseEnds) {
  auto collector = std::make_shared<Collector>();
  const auto id = engine_.submit({.say = {.text = "a[pause 1s]", .open = true}}, collector);
  ASSERT_TRUE(id.ok());
  size_t heard = 0;
  // After the pause, the request waits for text.
  while (heard < static_cast<size_t>(rate_)) heard += collector->next(1).size();
  engine_.cancel(id.value());
  EXPECT_EQ(collector->wait().reason, FinishReason::kCancelled);
  EXPECT_TRUE(wait_until_idle(engine_, 30));
}

TEST_F(PartsTest, AFaultOfALaterPartIsItsRequests) {
  const Spoken broken = speak({"ab[pause 10ms]c\1d"});
  EXPECT_EQ(broken.outcome.reason, FinishReason::kError);
  EXPECT_FALSE(samples("ab[pause 10ms]cd").empty());
}

// ---------------------------------------------------------------------------- without an engine

}  // namespace
}  // namespace syrinx
