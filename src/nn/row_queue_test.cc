#include "nn/row_queue.h"

#include <gtest/gtest.h>

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
  queue.push(x);
  EXPECT_EQ(values(queue.pop(ctx, 2)), values(x.view().slice(0, 2)));
  std::vector<float> want = values(y);
  for (size_t i = 0; i < want.size(); ++i) want[i] += x.f32()[6 + i];
  queue.pop_into_sum(y);
  EXPECT_EQ(values(y), want);
  EXPECT_EQ(queue.rows(), 1);
  EXPECT_THROW(queue.pop_into_sum(y), InternalError);
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
  queue.push(rising({2, 3}, 0).view());
  EXPECT_THROW(queue.pop(ctx, 3), InternalError);
  queue.pop(ctx, 2);
  EXPECT_EQ(queue.rows(), 0);
}

}  // namespace
}  // namespace syrinx
