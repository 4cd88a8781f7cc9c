// Checks the plain arithmetic that the device shares with the host.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <set>
#include <vector>

#include "base/float16.h"
#include "kernels/cuda/attention_order.h"
#include "kernels/cuda/matrix_layout.h"
#include "kernels/cuda/philox.h"
#include "kernels/fixture.h"
#include "kernels/packed_matrix.h"
#include "kernels/sample.h"

namespace syrinx::cuda {
namespace {

TEST(DeviceOrder, RandomNumbersAreThoseOfTheCpu) {
  for (uint32_t i = 0; i < 1000; ++i) {
    const uint64_t seed = i * 0x9e3779b97f4a7c15u;
    EXPECT_EQ(device_uniform(seed, i, i % 5, i % 2), philox_uniform(seed, i, i % 5, i % 2));
  }
}

TEST(DeviceOrder, OrderOfFloatsIsThatOfTheirValues) {
  const float rising[] = {
      -std::numeric_limits<float>::infinity(), -3e38f, -1, -1e-40f, 0, 1e-40f, 0.5f, 1, 3e38f,
      std::numeric_limits<float>::infinity()};
  uint32_t before = 0;
  for (const float x : rising) {
    uint32_t bits;
    std::memcpy(&bits, &x, 4);
    EXPECT_GT(order_of(bits), before) << x;
    EXPECT_EQ(bits_of_order(order_of(bits)), bits);
    before = order_of(bits);
  }
}

TEST(DeviceOrder, LanesCoverThePositionsOfAPage) {
  std::set<int> seen_positions;
  for (int lane = 0; lane < 32; ++lane) {
    seen_positions.insert(lane_position(lane));
    EXPECT_EQ(lane_position(lane) / 8, lane % 4);  // a lane keeps a position that it has summed
  }
  EXPECT_EQ(seen_positions.size(), 32u);
  EXPECT_EQ(*seen_positions.rbegin(), 31);
}

TEST(DeviceOrder, WhatAQuerySees) {
  EXPECT_EQ(seen(10, 50, 0, true).last, 11);
  EXPECT_EQ(seen(10, 50, 0, false).last, 50);
  EXPECT_EQ(seen(10, 50, 4, true).first, 7);
  EXPECT_EQ(seen(2, 50, 4, true).first, 0);
  EXPECT_EQ(group_of(kGroupPositions - 1), 0);
  EXPECT_EQ(group_of(kGroupPositions), 1);
}

// Every chunk of k must be in exactly one range, and if there are enough chunks, every warp of a
// split must have some.
TEST(DeviceOrder, RangesCoverK) {
  for (const int64_t rows : {16, 48, 64, 1024, 2048, 3072, 6144, 12288, 151936}) {
    for (const int64_t k : {1, 64, 100, 1024, 2048, 3072, 8192}) {
      const int64_t padded = matrix_padded_k(k), chunks = padded / kChunk;
      EXPECT_TRUE(padded >= k && padded < k + kChunk);
      const int split = skinny_split(rows, padded), ranges = split * kSkinnyWarps;
      EXPECT_TRUE(split == 1 || chunks >= ranges) << rows << " x " << k;
      int64_t next = 0;
      for (int i = 0; i < ranges; ++i) {
        EXPECT_EQ(range_begin(chunks, i, ranges), next);
        next = range_begin(chunks, i + 1, ranges);
        EXPECT_GE(next, range_begin(chunks, i, ranges));
      }
      EXPECT_EQ(next, chunks);
    }
  }
}

}  // namespace
}  // namespace syrinx::cuda
