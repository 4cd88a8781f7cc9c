#include "base/remembered.h"

#include <gtest/gtest.h>

#include <string>

namespace syrinx {
namespace {

using Texts = Remembered<int, const std::string>;

std::shared_ptr<const std::string> text(const char* value) {
  return std::make_shared<const std::string>(value);
}

TEST(Remembered, TheLatestUsedStay) {
  Texts some(30);
  for (int key = 1; key <= 3; ++key) some.keep(key, text("x"), 10);
  EXPECT_TRUE(some.find(1));
  some.keep(4, text("x"), 10);
  EXPECT_TRUE(some.find(1));
  EXPECT_FALSE(some.find(2)) << "the oldest that was not used";
  EXPECT_EQ(some.bytes(), 30u);
}

TEST(Remembered, WhatIsThereStaysAndWhatIsTooLargeNeverComes) {
  Texts some(30);
  some.keep(1, text("first"), 20);
  some.keep(1, text("second"), 20);
  EXPECT_EQ(*some.find(1), "first");
  EXPECT_EQ(some.bytes(), 20u);
  some.keep(2, text("x"), 31);
  EXPECT_FALSE(some.find(2));
  EXPECT_TRUE(some.find(1));
}

TEST(Remembered, WhatIsTakenIsGone) {
  Texts some(30);
  some.keep(1, text("x"), 20);
  const auto taken = some.take(1);
  ASSERT_TRUE(taken);
  EXPECT_EQ(*taken, "x");
  EXPECT_FALSE(some.take(1));
  EXPECT_EQ(some.bytes(), 0u);
}

}  // namespace
}  // namespace syrinx
