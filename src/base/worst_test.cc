#include "base/worst.h"

#include <gtest/gtest.h>

namespace syrinx {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(Worst, IsTheLarger) {
  EXPECT_EQ(worse(1.f, 2.f), 2.f);
  EXPECT_EQ(worse(2.f, 1.f), 2.f);
}

TEST(Worst, NothingHides) {
  for (const float bad : {kNan, kInfinity, -kInfinity}) {
    EXPECT_EQ(worse(1.f, bad), kInfinity);
    EXPECT_EQ(worse(bad, 1.f), kInfinity);
    EXPECT_EQ(worse(worse(1.f, bad), 1.f), kInfinity) << "nor is it forgotten";
  }
}

}  // namespace
}  // namespace syrinx
