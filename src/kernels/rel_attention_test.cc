#include "kernels/rel_attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "base/error.h"
#include "kernels/fixture.h"

namespace syrinx {
namespace {

/// A stream with all its rows, and what is held of them.
struct RelStream {
  int64_t total, rows, dropped, chunk, left;
};

class RelAttentionTest : public fixture::OnDevice {
 protected:
  static constexpr int64_t kHeads = 3;
  /// Runs streams in one call. Returns the rows of each stream.
  static std::vector<Tensor> run(Device device, int64_t dim, const std::vector<RelStream>& streams);
  /// Computes a number from the formula, in double.
  static double expected(const RelStream& s, int64_t dim, int64_t row, int64_t column);
};
INSTANTIATE_TEST_SUITE_P(Devices, RelAttentionTest, ::testing::ValuesIn(fixture::devices()),
                         fixture::device_label);

/// Returns number `column` of row `row` of a matrix of reproducible numbers.
float number(int64_t matrix, int64_t row, int64_t column) {
  return static_cast<float>(std::sin(1.7 * static_cast<double>(matrix) +
                                     2.3 * static_cast<double>(row) +
                                     0.31 * static_cast<double>(column * (column + row))));
}
enum { kQ, kK, kV, kP, kU, kW };  // queries, keys, values, distances, the two biases

std::vector<Tensor> RelAttentionTest::run(Device device, int64_t dim,
                                          const std::vector<RelStream>& streams) {
  const int64_t width = kHeads * dim;
  const auto fill = [](Tensor& x, int64_t row, int64_t matrix, int64_t from, int64_t count) {
    for (int64_t c = 0; c < count; ++c) x.f32()[row * count + c] = number(matrix, from, c);
  };
  int64_t all = 0, longest = 0;
  for (const RelStream& s : streams) all += s.rows, longest = std::max(longest, s.total);
  Tensor q({all, width}, DType::kF32), distances({2 * longest - 1, width}, DType::kF32);
  Tensor u({kHeads, dim}, DType::kF32), v({kHeads, dim}, DType::kF32);
  for (int64_t i = 0; i < 2 * longest - 1; ++i)
    fill(distances, i, kP, i - (longest - 1) + 1000, width);
  for (int64_t i = 0; i < width; ++i) u.f32()[i] = number(kU, 0, i), v.f32()[i] = number(kW, 0, i);
  std::vector<Tensor> keys, values;
  for (int64_t at = 0; const RelStream& s : streams) {
    for (int64_t i = 0; i < s.rows; ++i) fill(q, at + i, kQ, s.total - s.rows + i, width);
    at += s.rows;
    const Shape held{s.total - s.dropped, width};
    Tensor &key = keys.emplace_back(held, DType::kF32),
           &value = values.emplace_back(held, DType::kF32);
    for (int64_t i = 0; i < held[0]; ++i) {
      fill(key, i, kK, s.dropped + i, width);
      fill(value, i, kV, s.dropped + i, width);
    }
  }
  fixture::GuardedOutput out({all, width});
  fixture::Bench bench(2, device);
  std::vector<RelSegment> segments;
  for (size_t i = 0; i < streams.size(); ++i) {
    const RelStream& s = streams[i];
    segments.push_back({.rows = s.rows,
                        .total = s.total,
                        .dropped = s.dropped,
                        .chunk = s.chunk,
                        .left = s.left,
                        .keys = bench.on(keys[i]).f32(),
                        .values = bench.on(values[i]).f32(),
                        .distances = bench.on(distances).f32(),
                        .origin = longest - 1});
  }
  rel_attention(bench.ctx, bench.on(q), bench.on(u), bench.on(v), segments, bench.on(out.view()));
  bench.back();
  EXPECT_TRUE(out.clean());
  std::vector<Tensor> made;
  for (int64_t at = 0; const RelStream& s : streams) {
    Tensor& rows = made.emplace_back(Shape{s.rows, width}, DType::kF32);
    std::copy_n(out.view().f32() + at * width, s.rows * width, rows.f32());
    at += s.rows;
  }
  return made;
}

double RelAttentionTest::expected(const RelStream& s, int64_t dim, int64_t row, int64_t column) {
  const int64_t place = s.total - s.rows + row, first = column / dim * dim;
  const int64_t begin =
      s.left < 0 ? s.dropped : std::max<int64_t>(0, place / s.chunk - s.left) * s.chunk;
  const int64_t end = s.left < 0 ? s.total : std::min(s.total, (place / s.chunk + 1) * s.chunk);
  double sum = 0, mixed = 0;
  for (int64_t j = begin; j < end; ++j) {
    double score = 0;
    for (int64_t d = first; d < first + dim; ++d) {
      const double q = number(kQ, place, d);
      score += (q + number(kU, 0, d)) * number(kK, j, d);
      score += (q + number(kW, 0, d)) * number(kP, place - j + 1000, d);
    }
    const double weight = std::exp(score / std::sqrt(static_cast<double>(dim)));
    sum += weight;
    mixed += weight * number(kV, j, column);
  }
  return mixed / sum;
}

const std::vector<RelStream> kStreams{{7, 7, 0, 7, -1},  {12, 4, 4, 2, 2}, {9, 3, 0, 3, 9},
                                      {70, 6, 30, 6, 5}, {5, 5, 0, 2, 1},  {11, 1, 10, 1, 0},
                                      {300, 3, 0, 3, -1}};

/// The longest stream has more rows than a block of a GPU has threads.
TEST_P(RelAttentionTest, FollowsTheFormula) {
  for (const int64_t dim : {2, 8, 33, 128}) {
    const std::vector<Tensor> got = run(GetParam(), dim, kStreams);
    for (size_t i = 0; i < kStreams.size(); ++i) {
      for (int64_t at = 0; at < got[i].shape().count(); ++at) {
        const int64_t width = kHeads * dim;
        ASSERT_NEAR(got[i].f32()[at], expected(kStreams[i], dim, at / width, at % width), 2e-5)
            << "stream " << i << ", head size " << dim;
      }
    }
  }
}

/// A row depends neither on the other streams nor on rows that are dropped.
TEST_P(RelAttentionTest, HasTheSameBitsAlone) {
  const std::vector<Tensor> together = run(GetParam(), 40, kStreams);
  for (size_t i = 0; i < kStreams.size(); ++i) {
    RelStream alone = kStreams[i];
    alone.dropped = 0;
    EXPECT_TRUE(fixture::same_bits(run(GetParam(), 40, {alone})[0], together[i])) << i;
  }
}

TEST(RelAttentionKernel, RowsMustBeHeld) {
  fixture::Bench bench;
  const Tensor q({2, 4}, DType::kF32), u({2, 2}, DType::kF32), out({2, 4}, DType::kF32);
  const RelSegment stream{.rows = 2, .total = 3, .dropped = 2};
  EXPECT_THROW(rel_attention(bench.ctx, q, u, u, {&stream, 1}, out), InternalError);
  EXPECT_THROW(rel_attention(bench.ctx, q, u, u, {}, out), InternalError);
  const RelSegment early{.rows = 2, .total = 6, .dropped = 3, .chunk = 2, .left = 1};
  EXPECT_THROW(rel_attention(bench.ctx, q, u, u, {&early, 1}, out), InternalError);
  const Tensor wide({1, 129}, DType::kF32);
  EXPECT_THROW(rel_attention(bench.ctx, wide, wide, wide, {}, wide), InternalError);
}

}  // namespace
}  // namespace syrinx
