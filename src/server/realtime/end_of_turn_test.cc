#include "server/realtime/end_of_turn.h"

#include <gtest/gtest.h>

namespace syrinx {
namespace {

TEST(EndOfTurn, ByWhatWasSaid) {
  for (const Eagerness eagerness : {Eagerness::kLow, Eagerness::kMedium, Eagerness::kHigh}) {
    const auto pause = [&](const char* text) { return pause_that_ends_ms(eagerness, text); };
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
  }
  EXPECT_EQ(longest_pause_ms(Eagerness::kLow), 8000);
  EXPECT_EQ(longest_pause_ms(Eagerness::kMedium), 4000);
  EXPECT_EQ(longest_pause_ms(Eagerness::kHigh), 2000);
}

}  // namespace
}  // namespace syrinx
