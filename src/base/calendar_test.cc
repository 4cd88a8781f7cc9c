#include "base/calendar.h"

#include <gtest/gtest.h>

#include <ctime>

namespace syrinx {
namespace {

TEST(Calendar, FormatsInUtc) {
  EXPECT_EQ(utc_text(0, "%Y-%m-%dT%H:%M:%SZ"), "1970-01-01T00:00:00Z");
  EXPECT_EQ(utc_text(1'000'000'000, "%d.%m.%Y %H:%M"), "09.09.2001 01:46");
}

TEST(Calendar, FormatsInTheTimeZoneOfTheMachine) {
  const std::time_t noon = 1'700'000'000;
  char expected[32];
  std::strftime(expected, sizeof expected, "%H:%M %z", std::localtime(&noon));
  EXPECT_EQ(local_text(noon, "%H:%M %z"), expected);
}

TEST(Calendar, LeavesOutATooLongResult) {
  EXPECT_EQ(utc_text(0, std::string(2047, '-')).size(), 2047u);
  EXPECT_EQ(utc_text(0, std::string(2048, '-')), "");
}

}  // namespace
}  // namespace syrinx
