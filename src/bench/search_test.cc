#include "bench/search.h"

#include <gtest/gtest.h>

#include <cmath>

namespace syrinx {
namespace {

TEST(Search, FindsTheEdge) {
  for (const double edge : {0.02, 0.3, 1.0, 3.7, 42.0, 999.0}) {
    int runs = 0, confirmations = 0;
    const SearchOutcome out = search_highest({.start = 2}, [&](double load, bool confirm) {
      ++runs, confirmations += confirm;
      return load <= edge;
    });
    EXPECT_TRUE(out.confirmed);
    EXPECT_FALSE(out.limited);
    EXPECT_LE(out.best, edge);
    EXPECT_GE(out.best, edge * 0.93) << edge;
    EXPECT_EQ(confirmations, 1);
    EXPECT_LT(runs, 20);
  }
}

TEST(Search, FindsWholeNumbers) {
  for (int edge = 1; edge < 60; ++edge) {
    const SearchOutcome out =
        search_highest({.start = 4, .precision = 0.01, .whole = true}, [&](double load, bool) {
          EXPECT_EQ(load, std::floor(load));
          return load <= edge;
        });
    EXPECT_EQ(out.best, edge);
    EXPECT_TRUE(out.confirmed);
  }
}

TEST(Search, SaysWhenNothingHolds) {
  const SearchOutcome out = search_highest({.start = 4}, [](double, bool) { return false; });
  EXPECT_EQ(out.best, 0);
  EXPECT_FALSE(out.confirmed);
  EXPECT_EQ(search_highest({.start = 9, .whole = true}, [](double, bool) { return false; }).best,
            0);
}

TEST(Search, SaysWhenTheLimitHolds) {
  const SearchOutcome out =
      search_highest({.start = 4, .most = 50}, [](double load, bool) { return load <= 50; });
  EXPECT_EQ(out.best, 50);
  EXPECT_TRUE(out.limited && out.confirmed);
}

TEST(Search, AsksForNoMoreThanTheLimitWhereLoadsAreWhole) {
  const auto any = [](double load, bool) {
    EXPECT_EQ(load, 3);
    return true;
  };
  const SearchOutcome out = search_highest({.start = 3.5, .most = 3.5, .whole = true}, any);
  EXPECT_EQ(out.best, 3);
}

TEST(Search, GoesDownWhenTheConfirmationFails) {
  // Short runs succeed at loads up to 10 by luck, long runs only up to 8.
  const SearchOutcome out = search_highest(
      {.start = 1}, [](double load, bool confirm) { return load <= (confirm ? 8 : 10); });
  EXPECT_TRUE(out.confirmed);
  EXPECT_LE(out.best, 8);
  EXPECT_GE(out.best, 7);
}

TEST(Search, ClaimsNothingThatWasNotConfirmed) {
  const SearchOutcome out = search_highest(
      {.start = 1}, [](double load, bool confirm) { return load <= 10 && !confirm; });
  EXPECT_FALSE(out.confirmed);
  EXPECT_EQ(out.best, 0);
}

}  // namespace
}  // namespace syrinx
