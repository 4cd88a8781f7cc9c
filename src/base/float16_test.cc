#include "base/float16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace syrinx {
namespace {

TEST(Float16, EveryHalfSurvivesTheWayThereAndBack) {
  for (uint32_t h = 0; h < 65536; ++h) {
    const auto half = static_cast<uint16_t>(h);
    const float wide = f16_to_f32(half), brain = bf16_to_f32(half);
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(wide)))) << h;
    } else {
      ASSERT_EQ(f32_to_f16(wide), half) << h;
    }
    if (std::isnan(brain)) {
      EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(brain)))) << h;
    } else {
      ASSERT_EQ(f32_to_bf16(brain), half) << h;
    }
  }
}

TEST(Float16, KnownValues) {
  EXPECT_EQ(f16_to_f32(0x3c00), 1.0f);
  EXPECT_EQ(f16_to_f32(0x0001), 0x1p-24f);
  EXPECT_EQ(f16_to_f32(0xfbff), -65504.0f);
  EXPECT_EQ(f16_to_f32(0x7c00), std::numeric_limits<float>::infinity());
  EXPECT_EQ(f32_to_f16(65519.9f), 0x7bff);
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7c00);
  EXPECT_EQ(f32_to_f16(1.0f + 0x1p-11f), 0x3c00);      // a tie rounds to even
  EXPECT_EQ(f32_to_f16(1.0f + 3 * 0x1p-11f), 0x3c02);  // a tie rounds to even
  EXPECT_EQ(f32_to_bf16(1.0f + 0x1p-8f), 0x3f80);      // a tie rounds to even
  EXPECT_EQ(f32_to_bf16(1.0f + 3 * 0x1p-8f), 0x3f82);  // a tie rounds to even
  EXPECT_EQ(f32_to_bf16(3.4e38f), 0x7f80);             // too large: rounds to infinity
}

}  // namespace
}  // namespace syrinx
