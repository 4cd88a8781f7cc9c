#include "server/realtime/end_of_turn.h"

#include <gtest/gtest.h>

namespace syrinx {
namespace {

TEST(EndOfTurn, ByWhatWasSaid) {
  for (const Eagerness eagerness : {Eagerness::kLow, Eagerness::kMedium, Eagerness::kHigh}) {
    const auto pause = [&](const char* text) { return pause_that_ends_ms(eagerness, text, false); };
    const int done = pause("I am going home."), open = pause("I am going to the"),
              unknown = pause("I am going home");
    EXPECT_LT(done, unknown);
    EXPECT_LT(unknown, open);
    EXPECT_LT(open, longest_pause_ms(eagerness));
    EXPECT_EQ(pause("Really? "), done);
    EXPECT_EQ(pause("もう帰ります。"), done);
    EXPECT_EQ(pause("First,"), open);
    EXPECT_EQ(pause("well..."), open);
    EXPECT_EQ(pause("well…"), open);
    EXPECT_EQ(pause("so I went and, UM"), open);
    EXPECT_EQ(pause(""), longest_pause_ms(eagerness));
    EXPECT_EQ(pause(" \n"), longest_pause_ms(eagerness));
    // A falling pitch ends a turn only if the words do not decide.
    const auto fallen = [&](const char* text) { return pause_that_ends_ms(eagerness, text, true); };
    EXPECT_EQ(fallen("I am going home"), done);
    EXPECT_EQ(fallen("I am going to the"), open);
    EXPECT_EQ(fallen("First,"), open);
    EXPECT_EQ(fallen("Really?"), done);
    EXPECT_EQ(fallen(""), unknown);
    // The answer of Smart Turn takes precedence over words and pitch.
    EXPECT_EQ(pause_that_ends_ms(eagerness, "I am going home.", true, false), open);
    EXPECT_EQ(pause_that_ends_ms(eagerness, "I am going to the", false, true), done);
    EXPECT_EQ(pause_that_ends_ms(eagerness, "", false, true), done);
  }
  EXPECT_EQ(longest_pause_ms(Eagerness::kLow), 8000);
  EXPECT_EQ(longest_pause_ms(Eagerness::kMedium), 4000);
  EXPECT_EQ(longest_pause_ms(Eagerness::kHigh), 2000);
}

}  // namespace
}  // namespace syrinx
