#include "nn/row_queue.h"

#include <gtest/gtest.h>

#include <random>

#include "kernels/fixture.h"

namespace syrinx {
namespace {

Tensor rising(Shape shape, float first) {
  Tensor out(shape, DType::kF32);
  for (int64_t i = 0; i < out.view().count(); ++i) out.f32()[i] = first + static_cast<float>(i);
  return out;
}

std::vector<float> values(const View& x) { return {x.f32(), x.f32() + x.count()}; }

TEST(RowQueue, FirstInFirstOut) {
  ThreadPool pool(1);
  Arena arena;
  StepContext ctx{pool, arena};
  const Tensor x = rising({5, 3}, 0), y = rising({2, 3}, 100);
  RowQueue queue(3);
  queue.push(ctx, x);
  EXPECT_EQ(values(queue.pop(ctx, 2)), values(x.view().slice(0, 2)));
  std::vector<float> want = values(y);
  for (size_t i = 0; i < want.size(); ++i) want[i] += x.f32()[6 + i];
  queue.pop_into_sum(ctx, y);
  EXPECT_EQ(values(y), want);
  EXPECT_EQ(queue.rows(), 1);
  EXPECT_THROW(queue.pop_into_sum(ctx, y), InternalError);
}

TEST(ConvolveRows, ALayerThatLooksAheadComesLate) {
  ThreadPool pool(1);
  Arena arena;
  StepContext ctx{pool, arena};
  // The taps are 1 2 3, the padded input is 0 1 2 3 4 0.
  const Tensor w = rising({1, 1, 3}, 1), x = rising({4, 1}, 1);
  const CausalConv1d conv(w, {}, {.ahead = 1});
  EXPECT_EQ(certain_rows(conv, 0), 0);
  EXPECT_EQ(certain_rows(conv, 3), 2);
  ConvState state = conv.open();
  EXPECT_EQ(values(convolve_rows(ctx, conv, x.view().slice(0, 3), false, state)),
            (std::vector<float>{8, 14}));
  EXPECT_EQ(values(convolve_rows(ctx, conv, x.view().slice(3, 4), true, state)),
            (std::vector<float>{20, 11}));
}

TEST(RowQueue, GivesNoMoreThanItHas) {
  ThreadPool pool(1);
  Arena arena;
  StepContext ctx{pool, arena};
  RowQueue queue(3);
  queue.push(ctx, rising({2, 3}, 0).view());
  EXPECT_THROW(queue.pop(ctx, 3), InternalError);
  queue.pop(ctx, 2);
  EXPECT_EQ(queue.rows(), 0);
}

class RowQueues : public fixture::OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, RowQueues, ::testing::ValuesIn(fixture::devices()),
                         fixture::device_label);

/// Pushes and removes rows of three queues in random pieces, and keeps clones for one of them.
TEST_P(RowQueues, AddTheOldestRowsOfAllQueues) {
  constexpr int64_t kRowWidth = 3, kQueues = 3, kAllRows = 60;
  fixture::Bench bench(1, GetParam());
  std::mt19937 engine(7);
  std::vector<RowQueue> queues;
  std::vector<int64_t> in(kQueues), out(kQueues);  // rows pushed, rows removed
  for (int64_t q = 0; q < kQueues; ++q) queues.emplace_back(kRowWidth, GetParam());
  for (bool more = true; more;) {
    std::vector<Tensor> fresh, sums, wanted;
    std::vector<QueueSum> jobs;
    more = false;
    for (int64_t q = 0; q < kQueues; ++q) {
      const auto size = static_cast<int64_t>(engine() % 9);
      const int64_t enter = std::min(size, kAllRows - in[q]), held = in[q] + enter - out[q];
      const int64_t leave =
          in[q] + enter == kAllRows ? held : static_cast<int64_t>(engine() % (held + 1));
      const auto first = [&](int64_t row) {
        return static_cast<float>(1000 * q + row * kRowWidth);
      };
      fresh.push_back(rising({enter, kRowWidth}, first(in[q])));
      sums.push_back(rising({leave, kRowWidth}, 0.5f));
      wanted.push_back(rising({leave, kRowWidth}, first(out[q])));
      for (int64_t i = 0; i < leave * kRowWidth; ++i)
        wanted.back().f32()[i] += sums.back().f32()[i];
      in[q] += enter, out[q] += leave;
      more = more || out[q] < kAllRows;
    }
    for (int64_t q = 0; q < kQueues; ++q) {
      jobs.push_back({&queues[q], bench.on(fresh[q]), bench.on(sums[q])});
    }
    add_oldest(bench.ctx, jobs);
    bench.back();
    for (int64_t q = 0; q < kQueues; ++q) {
      EXPECT_EQ(values(sums[q]), values(wanted[q])) << q;
      EXPECT_EQ(queues[q].rows(), in[q] - out[q]);
    }
    queues[0] = queues[0].clone();
  }
}

}  // namespace
}  // namespace syrinx
