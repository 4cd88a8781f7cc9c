#include "kernels/id_limits.h"

#include <gtest/gtest.h>

#include "kernels/fixture.h"

namespace syrinx {
namespace {

class IdLimitsTest : public fixture::OnDevice {
 protected:
  /// Returns a mask of `words` words without these ids.
  static std::vector<uint64_t> without(size_t words, std::initializer_list<int> ids) {
    std::vector<uint64_t> mask(words, ~uint64_t{0});
    for (const int id : ids) mask[static_cast<size_t>(id / 64)] &= ~(uint64_t{1} << (id % 64));
    return mask;
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, IdLimitsTest, ::testing::ValuesIn(fixture::devices()),
                         fixture::device_label);

TEST_P(IdLimitsTest, OnlyAllowedIdsKeepTheirLogits) {
  constexpr int64_t kVocabulary = 1300;
  const Tensor logits = fixture::random({4, kVocabulary}, 3);
  const std::vector<uint64_t> mask = without(21, {0, 5, 64, 1299, 1300, 1343}),
                              small = without(2, {127});
  const std::vector<IdLimits> rows{{mask}, {}, {small}, {mask}};
  for (const size_t alone : {size_t{4}, size_t{0}, size_t{2}}) {  // 4: all rows together
    fixture::Bench bench(2, GetParam());
    const size_t first = alone % 4, count = alone == 4 ? 4 : 1;
    const Tensor got = logits.clone();
    const auto begin = static_cast<int64_t>(first), end = static_cast<int64_t>(first + count);
    limit_ids(bench.ctx, bench.on(got.view().slice(begin, end)),
              std::span(rows).subspan(first, count));
    bench.back();
    for (int64_t row = begin; row < end; ++row) {
      for (int64_t id = 0; id < kVocabulary; ++id) {
        const bool masked = id == 0 || id == 5 || id == 64 || id == 1299;
        const bool allowed = row == 1 || (row == 2 ? id < 127 : !masked);
        ASSERT_EQ(got.f32()[row * kVocabulary + id],
                  allowed ? logits.f32()[row * kVocabulary + id] : -INFINITY)
            << row << ", id " << id;
      }
    }
  }
}

TEST_P(IdLimitsTest, LaterIdsTogetherOutweighTheOthers) {
  constexpr int64_t kVocabulary = 900;
  constexpr int32_t kFirst = 700;
  // The weight of the later ids is 200, without one of them 199. The likeliest earlier id has
  // 199.5.
  Tensor logits({5, kVocabulary}, DType::kF32);
  for (int64_t i = 0; i < logits.view().count(); ++i) logits.f32()[i] = 0;
  for (int64_t row = 0; row < 5; ++row) logits.f32()[row * kVocabulary + 650] = std::log(199.5f);
  const std::vector<uint64_t> one = without(15, {800}), best = without(15, {800, 650});
  const std::vector<uint64_t> none(10, ~uint64_t{0});  // no later id is allowed
  const std::vector<IdLimits> rows{{{}, kFirst}, {one, kFirst}, {best, kFirst}, {none, kFirst}, {}};
  fixture::Bench bench(2, GetParam());
  limit_ids(bench.ctx, bench.on(logits), rows);
  bench.back();
  const bool want[] = {false, true, false, true, true};
  for (int64_t row = 0; row < 5; ++row) {
    const float* x = logits.f32() + row * kVocabulary;
    EXPECT_EQ(std::isfinite(x[3]), want[row]) << row;
    EXPECT_EQ(std::isfinite(x[kFirst - 70]), want[row]) << row;
    EXPECT_EQ(std::isfinite(x[kFirst]), row != 3) << row;
  }
}

TEST_P(IdLimitsTest, LogProbabilitiesAreThoseOfSoftmax) {
  constexpr int64_t kVocabulary = 1234, kRows = 3;
  const Tensor logits = fixture::random({kRows, kVocabulary}, 5, 4);
  for (int64_t id = 0; id < kVocabulary; id += 3) logits.f32()[id] = -INFINITY;
  Tensor ids({kRows, 2}, DType::kI32), out = fixture::poisoned({kRows});
  const int32_t drawn[] = {0, 1, 700, 1233, 5, 900};
  std::copy_n(drawn, 6, ids.i32());
  for (const int column : {0, 1}) {
    fixture::Bench bench(2, GetParam());
    log_probabilities(bench.ctx, bench.on(logits), bench.on(ids), column, bench.on(out));
    bench.back();
    for (int64_t row = 0; row < kRows; ++row) {
      const float* x = logits.f32() + row * kVocabulary;
      const float logit = x[drawn[row * 2 + column]];
      const double all = log_sum({x, static_cast<size_t>(kVocabulary)});
      if (logit == -INFINITY) {
        EXPECT_EQ(out.f32()[row], -INFINITY);
      } else {
        EXPECT_NEAR(out.f32()[row], logit - all, 1e-5) << row;
      }
      Tensor single({1}, DType::kF32);
      fixture::Bench alone(1, GetParam());
      log_probabilities(alone.ctx, alone.on(logits.view().slice(row, row + 1)),
                        alone.on(ids.view().slice(row, row + 1)), column, alone.on(single));
      alone.back();
      EXPECT_EQ(single.f32()[0], out.f32()[row]);
    }
  }
  const float two[] = {1, 1};
  EXPECT_NEAR(log_sum(two), 1 + std::log(2.), 1e-9);
  const float never[] = {-INFINITY, -INFINITY};
  EXPECT_EQ(log_sum(never), -INFINITY);
}

}  // namespace
}  // namespace syrinx
