// Pauses in a text: each part has the samples of a separate request, with exact silence in between.
#include "engine/parts.h"

#include <gtest/gtest.h>

#include <cmath>

#include "engine/collector.h"
#include "engine/engine.h"
#include "model/toy/toy.h"

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
  EXPECT_TRUE(engine_.drain(30));
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
  EXPECT_TRUE(engine_.drain(30));
}

TEST_F(PartsTest, AFaultOfALaterPartIsItsRequests) {
  const Spoken broken = speak({"ab[pause 10ms]c\1d"});
  EXPECT_EQ(broken.outcome.reason, FinishReason::kError);
  EXPECT_FALSE(samples("ab[pause 10ms]cd").empty());
}

// ---------------------------------------------------------------------------- without an engine

TEST(SpokenParts, NoneWithoutAReason) {
  EXPECT_FALSE(SpokenParts::of({.say = {.text = "Hello."}}).take());
  EXPECT_TRUE(SpokenParts::of({.say = {.text = "Hello [x]."}}).take());
  EXPECT_TRUE(SpokenParts::of({.say = {.open = true}}).take());
  SpeechRequest chat{.say = {.text = "<break time='1s'/>"}};
  chat.writing.chat = std::make_shared<Chat>();
  EXPECT_FALSE(SpokenParts::of(chat).take());
}

TEST(SpokenParts, PositionsInTheWholeText) {
  const std::string text = "[pause 1s]One[pause 2s] ... [pause 3s]two";
  auto parts = SpokenParts::of({.say = {.text = text}}).take();
  for (const char* expected : {"One", "two"}) {
    ASSERT_EQ(parts->next(), SpokenParts::Next::kBegin);
    EXPECT_EQ(parts->pause_s(), std::string(expected) == "One" ? 1 : 5);
    EXPECT_EQ(static_cast<size_t>(parts->text_begin()), text.find(expected));
    const auto request = parts->begin(0);
    EXPECT_EQ(request->say.text, expected);
    EXPECT_FALSE(request->say.open);
    parts->end();
  }
  EXPECT_EQ(parts->next(), SpokenParts::Next::kDone);
}

TEST(SpokenParts, OpenTextWaits) {
  auto parts = SpokenParts::of({.say = {.open = true}}).take();
  EXPECT_TRUE(parts->begin(0)->say.open);
  SpokenParts::LiveText live = parts->push("[pause 1s]One", false).take();
  EXPECT_EQ(live.text, "One");
  EXPECT_FALSE(live.last);
  EXPECT_EQ(parts->text_begin(), 10);
  EXPECT_EQ(parts->take_pause(), 1);
  live = parts->push("[pause 2s]", false).take();
  EXPECT_TRUE(live.last);
  parts->end();
  EXPECT_EQ(parts->next(), SpokenParts::Next::kWait);
  EXPECT_EQ(parts->take_pause(), 2);
  live = parts->push("two", true).take();
  EXPECT_EQ(live.text, "");
  EXPECT_EQ(parts->next(), SpokenParts::Next::kBegin);
  EXPECT_EQ(parts->begin(0)->say.text, "two");
}

TEST(SpokenParts, AreCutWhereTheDeliveryChanges) {
  SpeechRequest request{.say = {.text = "One two. [pause 1s]Three four"}, .voice = {.speed = 2}};
  request.say.deliveries = {{0, 0.5f, 1}, {4, 1.5f, 0}, {24, 1, -2}};
  request.say.sayings = {{0, 3, "eins"}, {4, 7, "zwei"}, {19, 24, "drei"}, {25, 29, "vier"}};
  auto parts = SpokenParts::of(request).take();
  const char* texts[] = {"One ", "two. ", "Three", " four"};
  const double pauses[] = {0, 0, 1, 0};
  const float speeds[] = {1, 3, 3, 2}, pitches[] = {1, 0, 0, -2};
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(parts->next(), SpokenParts::Next::kBegin) << i;
    EXPECT_EQ(parts->take_pause(), pauses[i]) << i;
    const auto part = parts->begin(0);
    EXPECT_EQ(part->say.text, texts[i]);
    EXPECT_FLOAT_EQ(part->voice.speed, speeds[i]) << i;
    EXPECT_FLOAT_EQ(part->voice.pitch, pitches[i]) << i;
    EXPECT_TRUE(part->say.deliveries.empty());
    ASSERT_EQ(part->say.sayings.size(), 1u) << i;
    EXPECT_EQ(part->say.sayings[0].words, request.say.sayings[static_cast<size_t>(i)].words);
    EXPECT_EQ(part->say.sayings[0].begin, i == 3 ? 1 : 0);
    parts->end();
  }
  EXPECT_EQ(parts->next(), SpokenParts::Next::kDone);
}

/// A change of delivery separates the texts that the model sees. So the pause between the two
/// paragraphs must remain as silence.
TEST(SpokenParts, ADeliveryThatChangesBetweenParagraphsKeepsTheirPause) {
  const struct {
    const char* text;
    int64_t at;
    double pause_s;
  } cases[] = {{"One two.\n\nThree.", 8, 0.4}, {"One two.\n\nThree.", 10, 0.4},
               {"Heading\n\nThree.", 9, 0.6},  {"\"One.\"\n\nThree.", 6, 0.25},
               {"One two. Three.", 9, 0},      {"One two.\nThree.", 9, 0},
               {"\n\nThree.", 1, 0},           {"One.\n\n[pause 1s]\n\nTwo.", 16, 1},
               {"One.\n\nTwo. Three.", 11, 0}};
  for (const auto& [text, at, pause_s] : cases) {
    SpeechRequest request{.say = {.text = text}};
    request.say.deliveries = {{at, 0.5f, 0}};
    for (const size_t cut : {std::string_view(text).size(), size_t{3}, size_t{0}}) {
      SpeechRequest beginning = request;
      beginning.say.text.resize(cut);
      beginning.say.open = true;
      auto parts = SpokenParts::of(beginning).take();
      for (const char c : std::string_view(text).substr(cut)) {
        ASSERT_TRUE(parts->push(std::string_view(&c, 1), false).ok());
      }
      ASSERT_TRUE(parts->push("", true).ok());
      double pauses = 0;
      for (; parts->next() == SpokenParts::Next::kBegin; parts->end()) {
        pauses += parts->take_pause();
        parts->begin(0);
      }
      EXPECT_NEAR(pauses, pause_s, 1e-6) << text << ", " << cut << " bytes at first";
    }
  }
}

TEST(SpokenParts, WordsOfALexiconArePutIntoTheText) {
  SpeechRequest request{.say = {.text = "The nginx"}};
  request.say.lexicon = Lexicon::parse("nginx engine X").take();
  // With phones, the model itself applies the lexicon, and the text is not cut.
  EXPECT_FALSE(SpokenParts::of(request, true).take());
  EXPECT_EQ(SpokenParts::of(request, false).take()->begin(0)->say.text, "The engine X");
  request.say.open = true;
  auto parts = SpokenParts::of(request, false).take();
  EXPECT_EQ(parts->begin(0)->say.text, "The ");
  SpokenParts::LiveText live = parts->push(" and ngi", false).take();
  EXPECT_EQ(live.text, "engine X and ");
  live = parts->push("nx[pause 1s]nginx", true).take();
  EXPECT_EQ(live.text, "engine X");
  EXPECT_TRUE(live.last);
  parts->end();
  EXPECT_EQ(parts->begin(0)->say.text, "engine X");
}

}  // namespace
}  // namespace syrinx
