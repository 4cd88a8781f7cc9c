#include "model/markup.h"

#include <gtest/gtest.h>

namespace syrinx {
namespace {

TEST(Markup, PartsKeepHowTheyAreSaid) {
  SpeechRequest whole, part;
  whole.say.text = "One two. Three four. Five.";
  whole.say.sayings = {{4, 7, "TWO"}, {9, 14, "THREE"}, {21, 25, "FIVE"}};
  whole.say.deliveries = {{4, 0.5f, 0}, {15, 1, 2}, {21, 1, 0}};
  take_part(whole, 9, 12, part);
  EXPECT_EQ(part.say.text, "Three four. ");
  ASSERT_EQ(part.say.sayings.size(), 1u);
  EXPECT_EQ(part.say.sayings[0].begin, 0);
  EXPECT_EQ(part.say.sayings[0].words, "THREE");
  ASSERT_EQ(part.say.deliveries.size(), 2u);
  EXPECT_EQ(part.say.deliveries[0].begin, 0);  // this delivery began before the part
  EXPECT_EQ(part.say.deliveries[0].rate, 0.5f);
  EXPECT_EQ(part.say.deliveries[1].begin, 6);
  EXPECT_EQ(part.say.deliveries[1].pitch, 2);
  take_part(whole, 21, 5, part);
  EXPECT_EQ(part.say.text, "Five.");
  EXPECT_TRUE(part.say.deliveries.empty());
  take_part(whole, 0, 4, part);
  EXPECT_TRUE(part.say.sayings.empty() && part.say.deliveries.empty());
}

}  // namespace
}  // namespace syrinx
