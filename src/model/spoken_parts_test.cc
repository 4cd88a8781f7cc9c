#include "model/spoken_parts.h"

#include <gtest/gtest.h>

namespace syrinx {
namespace {

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
