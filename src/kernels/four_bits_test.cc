#include "kernels/four_bits.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "base/float16.h"

namespace syrinx {
namespace {

constexpr int64_t kK = 96;

/// Packs 16 rows of kK weights and reads them back.
std::vector<float> through_four_bits(const std::vector<float>& rows) {
  std::vector<uint8_t> panel(FourBits::panel_bytes(kK), 0xcc);
  FourBits::pack_panel(rows.data(), kK, panel.data());
  std::vector<float> out(rows.size());
  for (int64_t o = 0; o < 16; ++o) {
    for (int64_t i = 0; i < kK; ++i) {
      out[o * kK + i] = FourBits::weight(panel.data(), kK, o, i);
    }
  }
  return out;
}

double relative_error(const std::vector<float>& got, const std::vector<float>& want) {
  double off = 0, size = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    off += (double{got[i]} - want[i]) * (double{got[i]} - want[i]);
    size += double{want[i]} * want[i];
  }
  return std::sqrt(off / size);
}

std::vector<float> gaussian(float size, float mean = 0) {
  std::mt19937 engine(3);
  std::normal_distribution<float> normal(mean, size);
  std::vector<float> rows(16 * kK);
  for (float& w : rows) w = normal(engine);
  return rows;
}

// Weights made of numbers in [0, 15] and integer zeros, as in published checkpoints.
TEST(FourBits, KeepWhatIsAlreadyOfFourBits) {
  std::mt19937 engine(1);
  std::uniform_int_distribution<int> number(0, 15), zero(0, 16), bits(0x0400, 0x5000);
  for (int round = 0; round < 50; ++round) {
    std::vector<float> rows(16 * kK);
    for (int64_t g = 0; g < 16 * kK / 32; ++g) {
      const float scale = f16_to_f32(static_cast<uint16_t>(bits(engine)));
      const int z = round == 0 ? 0 : round == 1 ? 16 : zero(engine);
      for (int64_t i = 0; i < 32; ++i) {
        rows[g * 32 + i] = scale * static_cast<float>(number(engine) - z);
      }
    }
    ASSERT_EQ(through_four_bits(rows), rows) << round;
  }
}

TEST(FourBits, KeepConstantsOfEitherSign) {
  for (const float value : {0.0f, 1.0f, -1.0f, 15.0f, -0.375f}) {
    const std::vector<float> rows(16 * kK, value);
    EXPECT_EQ(through_four_bits(rows), rows) << value;
  }
}

// Multiples of a scale with 16 steps, one more than 4 bits allow.
TEST(FourBits, SixteenStepsAreOneTooMany) {
  std::vector<float> rows(16 * kK);
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(i % 17) - 8;
  EXPECT_LT(relative_error(through_four_bits(rows), rows), 0.1);
}

// All numbers of the group are equal, so no line can be fitted to them.
TEST(FourBits, ConstantsThatAreNoHalfFloatsAreNear) {
  for (int i = 1; i <= 60; ++i) {
    for (const float value : {0.1f * static_cast<float>(i), -0.1f * static_cast<float>(i)}) {
      const std::vector<float> rows(16 * kK, value);
      EXPECT_LT(relative_error(through_four_bits(rows), rows), 1e-3) << value;
    }
  }
}

// The search must have less error than the scale of the whole range, for any mean.
TEST(FourBits, SearchBeatsTheRange) {
  for (const float mean : {0.0f, 0.5f, -0.5f}) {
    const std::vector<float> rows = gaussian(1, mean);
    std::vector<float> plain(rows.size());
    for (size_t g = 0; g < rows.size(); g += 32) {
      float low = 0, high = 0;
      for (size_t i = g; i < g + 32; ++i) {
        low = std::min(low, rows[i]);
        high = std::max(high, rows[i]);
      }
      const float step = (high - low) / 15;
      for (size_t i = g; i < g + 32; ++i) {
        plain[i] = low + step * std::nearbyint((rows[i] - low) / step);
      }
    }
    const double error = relative_error(through_four_bits(rows), rows);
    EXPECT_LT(error, 0.97 * relative_error(plain, rows)) << mean;
    EXPECT_LT(error, 0.076) << mean;
  }
}

TEST(FourBits, SizesFarFromOne) {
  for (const float size : {1e-5f, 1e-3f, 1e3f, 1e5f}) {
    const std::vector<float> rows = gaussian(size);
    EXPECT_LT(relative_error(through_four_bits(rows), rows), size < 1e-4f ? 0.2 : 0.076) << size;
  }
  for (const float size : {1e-30f, 1e30f}) {
    for (const float w : through_four_bits(gaussian(size))) ASSERT_TRUE(std::isfinite(w)) << size;
  }
}

}  // namespace
}  // namespace syrinx
