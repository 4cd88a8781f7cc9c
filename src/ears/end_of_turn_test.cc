#include "ears/end_of_turn.h"

#include <gtest/gtest.h>

namespace syrinx {
namespace {

TEST(EndOfTurn, ByWhatWasSaid) {
  for (const Eagerness eagerness : {Eagerness::kLow, Eagerness::kMedium, Eagerness::kHigh}) {
    const TurnPauses& pauses = pauses_of(eagerness);
    const auto pause = [&](const char* text) { return pause_that_ends_ms(pauses, text, false); };
    const int done = pause("I am going home."), open = pause("I am going to the"),
              unknown = pause("I am going home");
    EXPECT_LT(done, unknown);
    EXPECT_LT(unknown, open);
    EXPECT_LT(open, pauses.longest);
    EXPECT_EQ(pause("Really? "), done);
    EXPECT_EQ(pause("もう帰ります。"), done);
    EXPECT_EQ(pause("First,"), open);
    EXPECT_EQ(pause("well..."), open);
    EXPECT_EQ(pause("well…"), open);
    EXPECT_EQ(pause("so I went and, UM"), open);
    EXPECT_EQ(pause(""), pauses.longest);
    EXPECT_EQ(pause(" \n"), pauses.longest);
    // A falling pitch ends a turn only if the words do not decide.
    const auto fallen = [&](const char* text) { return pause_that_ends_ms(pauses, text, true); };
    EXPECT_EQ(fallen("I am going home"), done);
    EXPECT_EQ(fallen("I am going to the"), open);
    EXPECT_EQ(fallen("First,"), open);
    EXPECT_EQ(fallen("Really?"), done);
    EXPECT_EQ(fallen(""), unknown);
    // The answer of Smart Turn takes precedence over words and pitch.
    EXPECT_EQ(pause_that_ends_ms(pauses, "I am going home.", true, false), open);
    EXPECT_EQ(pause_that_ends_ms(pauses, "I am going to the", false, true), done);
    EXPECT_EQ(pause_that_ends_ms(pauses, "", false, true), done);
  }
  EXPECT_EQ(pauses_of(Eagerness::kLow).longest, 8000);
  EXPECT_EQ(pauses_of(Eagerness::kMedium).longest, 4000);
  EXPECT_EQ(pauses_of(Eagerness::kHigh).longest, 2000);
}

}  // namespace
}  // namespace syrinx
