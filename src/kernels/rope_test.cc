#include "kernels/rope.h"

#include <gtest/gtest.h>

#include <bit>
#include <vector>

#include "kernels/fixture.h"

namespace syrinx {
namespace {

using fixture::Bench;

class RopeTest : public fixture::OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, RopeTest, ::testing::ValuesIn(fixture::devices()),
                         fixture::device_label);

TEST_P(RopeTest, TurnsPairsByTheirAngle) {
  Bench bench(2, GetParam());
  const std::vector<int32_t> positions{0, 3, 1000};
  for (const RopeLayout layout : {RopeLayout::kHalfSplit, RopeLayout::kInterleaved}) {
    const RopeTable table({24, 10000, layout}, 1001);
    const Tensor x = fixture::random({3, 100}, 1);
    Tensor y = x.clone();
    rope(bench.ctx, {bench.on(y), 4, 3, 32}, positions, bench.weights(table));
    bench.back();
    for (int i = 0; i < 3; ++i) {
      for (int h = 0; h < 3; ++h) {
        for (int j = 0; j < 12; ++j) {
          const bool half = layout == RopeLayout::kHalfSplit;
          const int a = i * 100 + 4 + h * 32 + (half ? j : 2 * j), b = a + (half ? 12 : 1);
          const double angle = positions[i] * std::pow(10000., -2. * j / 24);
          const double c = std::cos(angle), s = std::sin(angle);
          EXPECT_NEAR(y.f32()[a], x.f32()[a] * c - x.f32()[b] * s, 2e-4);
          EXPECT_NEAR(y.f32()[b], x.f32()[b] * c + x.f32()[a] * s, 2e-4);
        }
        for (int j = 24; j < 32; ++j) {  // columns from dim on must not change
          const int a = i * 100 + 4 + h * 32 + j;
          EXPECT_EQ(y.f32()[a], x.f32()[a]);
        }
      }
      EXPECT_EQ(y.f32()[i * 100 + 3], x.f32()[i * 100 + 3]);
    }
  }
}

TEST(Rope, FactorsSlowThePositionsOfEachPair) {
  RopeSpec spec{8, 10000};
  const RopeTable plain(spec, 4);
  spec.factors = {1, 2, 4, 30};
  spec.gain = 1.25f;
  const RopeTable slowed(spec, 4);
  float cos[4], sin[4], want_cos[4], want_sin[4];
  for (const int64_t position : {0, 3, 60, 900}) {  // positions within the table and beyond it
    slowed.angles(position, cos, sin);
    for (int i = 0; i < 4; ++i) {
      const double angle =
          static_cast<double>(position) / spec.factors[i] * std::pow(10000., -2. * i / 8);
      EXPECT_NEAR(cos[i], 1.25 * std::cos(angle), 2e-4) << position << " " << i;
      EXPECT_NEAR(sin[i], 1.25 * std::sin(angle), 2e-4) << position << " " << i;
    }
  }
  slowed.angles(900, cos, sin);
  plain.angles(30, want_cos, want_sin);
  EXPECT_NEAR(cos[3], 1.25f * want_cos[3], 1e-6);
  spec.factors.pop_back();
  EXPECT_THROW(RopeTable(spec, 4), InternalError);
}

TEST(Rope, Llama3ScalingStretchesLongWavesOnly) {
  RopeSpec spec{64, 500000};
  const RopeTable plain(spec, 2);
  spec.scaling = {32, 1, 4, 8192};
  const RopeTable scaled(spec, 2);
  const auto angle = [](const RopeTable& t, int i) { return std::asin(t.sin().f32()[32 + i]); };
  EXPECT_EQ(angle(plain, 5), angle(scaled, 5));
  EXPECT_NEAR(angle(scaled, 31), angle(plain, 31) / 32, 1e-12);
  EXPECT_LT(angle(scaled, 16), angle(plain, 16));  // wavelength 4442, in the middle range
  EXPECT_GT(angle(scaled, 16), angle(plain, 16) / 32);
}

TEST(Rope, AnglesMayBeThoseOfATableInBf16) {
  const RopeTable exact({16, 1e6}, 300);
  RopeSpec spec{16, 1e6};
  spec.bf16 = true;
  const RopeTable rounded(spec, 300);
  bool differ = false;
  for (int64_t i = 0; i < 300 * 8; ++i) {
    const float c = rounded.cos().f32()[i];
    EXPECT_EQ(std::bit_cast<uint32_t>(c) & 0xffff, 0u);
    EXPECT_NEAR(c, exact.cos().f32()[i], 0x1p-8f);
    differ |= c != exact.cos().f32()[i];
  }
  EXPECT_TRUE(differ);
}

TEST_P(RopeTest, PositionsBeyondTheTableAreTheSameBits) {
  RopeSpec rounded{16, 10000}, slowed{16, 10000};
  rounded.bf16 = true;
  slowed.factors = {1, 1.1f, 1.3f, 2, 4, 8, 16, 30}, slowed.gain = 1.19f;
  for (const RopeSpec& spec : {RopeSpec{16, 10000}, rounded, slowed}) {
    Bench bench(1, GetParam());
    const RopeTable small(spec, 4), large(spec, 100);
    Tensor x = fixture::random({2, 16}, 1), y = x.clone();
    const std::vector<int32_t> positions{3, 99}, bad{0, -1};
    rope(bench.ctx, all_heads(bench.on(x), 1), positions, bench.weights(small));
    bench.back();
    rope(bench.ctx, all_heads(bench.on(y), 1), positions, bench.weights(large));
    bench.back();
    EXPECT_TRUE(fixture::same_bits(x, y));
    EXPECT_THROW(rope(bench.ctx, all_heads(bench.on(x), 1), bad, bench.weights(small)),
                 InternalError);
  }
}

}  // namespace
}  // namespace syrinx
