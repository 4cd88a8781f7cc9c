// Tests Stream::repeat(): a recorded step must have the same results as the queued step.
#include <gtest/gtest.h>

#include <numeric>

#include "kernels/activation.h"
#include "kernels/embedding.h"
#include "kernels/fixture.h"
#include "kernels/sample.h"

namespace syrinx {
namespace {

using fixture::Bench;

/// Returns the GPUs, because only GPUs have streams.
std::vector<Device> gpus() {
  std::vector<Device> all = fixture::devices();
  all.erase(all.begin());
  return all;
}

class Repeat : public fixture::OnDevice {
 protected:
  /// Uploads a and b, and computes a + b on the device. Returns a row of `width` numbers that
  /// depend on `step`.
  std::vector<float> sum(int step, int64_t width) {
    std::vector<float> a(width), b(width), out(width);
    std::iota(a.begin(), a.end(), static_cast<float>(step));
    std::iota(b.begin(), b.end(), 10.f * static_cast<float>(step));
    bench_.ctx.stream->repeat([&] {
      bench_.arena.reset();
      const View x = bench_.ctx.arena.take({1, width}, DType::kF32);
      store(bench_.ctx, a, x);
      const View y = upload(bench_.ctx, View{b.data(), DType::kF32, {1, width}});
      add_inplace(bench_.ctx, x, y);
      fetch(bench_.ctx, x, std::span<float>(out));
    });
    synchronize(bench_.ctx);
    for (int64_t i = 0; i < width; ++i) EXPECT_EQ(out[i], a[i] + b[i]) << step << " " << i;
    return out;
  }
  uint64_t played() const { return bench_.ctx.stream->played(); }

  /// Computes out = a + b by repeat_as(). a is in Stream::block(); b depends on `key` alone, so it
  /// need not be there. Returns whether repeat_as() called the work, rather than play its graph.
  bool keyed_sum(int step, uint64_t key) {
    StepContext& ctx = bench_.ctx;
    const auto width = static_cast<int64_t>(300 * key);
    std::vector<float> b(width), out(width);
    std::iota(b.begin(), b.end(), 100.f * static_cast<float>(key));
    auto* a = static_cast<float*>(ctx.stream->block(width * sizeof(float)));
    EXPECT_NE(a, nullptr);
    std::iota(a, a + width, static_cast<float>(step));
    const std::vector<float> want(a, a + width);
    bool ran = false;
    ctx.stream->repeat_as({key}, out.data(), out.size() * sizeof(float), [&] {
      ran = true;
      bench_.arena.reset();
      const View x = ctx.arena.take({1, width}, DType::kF32);
      store(ctx, std::span<const float>(a, width), x);
      add_inplace(ctx, x, upload(ctx, View{b.data(), DType::kF32, {1, width}}));
      fetch(ctx, x, std::span<float>(out));
    });
    synchronize(ctx);
    for (int64_t i = 0; i < width; ++i) EXPECT_EQ(out[i], want[i] + b[i]) << step << " " << i;
    return ran;
  }

  /// Queues a step of three rows that draws four codes. A code's logits are the embedding of the
  /// last code. `out`: codes, then statuses.
  static void queue_frame(Bench& bench, const View& table, int step, std::span<int32_t> out) {
    constexpr int64_t kRows = 3, kCodes = 4;
    StepContext& ctx = bench.ctx;
    const View both = ctx.arena.take({2 * kRows, kCodes}, DType::kI32);
    const View codes = both.slice(0, kRows), status = both.slice(kRows, 2 * kRows);
    const std::vector<int32_t> first{step, 2 * step, 3}, history(step * 3, 1);
    for (int k = 0; k < kCodes; ++k) {
      const View logits = ctx.arena.take({kRows, table.shape[1]}, DType::kF32);
      k == 0 ? embed(ctx, table, first, logits) : embed_column(ctx, table, codes, k - 1, logits);
      std::vector<SampleRow> rows(kRows);
      for (int i = 0; i < kRows; ++i) {
        rows[i].params.temperature = i == 2 ? 1 : 0;
        rows[i].params.repetition_penalty = i == 1 ? 1.5f : 1;
        rows[i].history = history;
        rows[i].step = static_cast<uint32_t>(step), rows[i].codebook = static_cast<uint32_t>(k);
      }
      const std::vector<GuidedRow> places{{0, false, 1}, {1, false, 1}, {2, false, 1}};
      sample_codes(ctx, logits, rows, places, k, codes, status);
    }
    fetch(ctx, both, out);
  }

  Bench bench_{1, GetParam()};
};

TEST_P(Repeat, PlaysFromTheThirdTimeOnWithNewNumbers) {
  for (int step = 0; step < 10; ++step) sum(step, 300);
  EXPECT_EQ(played(), 8u);
}

TEST_P(Repeat, PiecesAreApart) {
  for (int step = 0; step < 6; ++step) sum(step, 300), sum(step, 500);
  EXPECT_EQ(played(), 8u);
  for (int step = 0; step < 40; ++step) sum(step, 1001 + step);  // the sizes of all steps differ
  EXPECT_EQ(played(), 8u);
  sum(7, 300), sum(7, 500);
  EXPECT_EQ(played(), 10u);
}

// A recorded graph that copies from freed memory must be dropped, even if the memory is used again.
TEST_P(Repeat, NoRecordingOutlivesMemoryGivenBack) {
  for (int step = 0; step < 4; ++step) sum(step, 300);
  EXPECT_EQ(played(), 2u);
  { const Tensor large({17 << 20}, DType::kU8, GetParam()); }
  for (int step = 0; step < 4; ++step) sum(step, 300);
  EXPECT_EQ(played(), 4u);
}

TEST_P(Repeat, AnArenaThatGrowsKeepsItsRecordings) {
  for (int step = 0; step < 4; ++step) sum(step, 300);
  EXPECT_EQ(played(), 2u);
  bench_.arena.reset();
  bench_.ctx.arena.take({32 << 20}, DType::kU8);  // a large request, as for a long prompt
  for (int step = 0; step < 4; ++step) sum(step, 300);
  EXPECT_EQ(played(), 6u);
}

TEST_P(Repeat, AKnownPieceRunsWithoutItsCode) {
  for (int step = 0; step < 8; ++step) {
    for (const uint64_t key : {1, 2}) EXPECT_EQ(keyed_sum(step, key), step < 2) << step;
    sum(step, 500);  // a piece between them, which uploads from the same memory
  }
  EXPECT_EQ(bench_.ctx.stream->recalled(), 12u);
  EXPECT_EQ(played(), 12u + 6u);
}

TEST_P(Repeat, AnEmptyKeyNamesNoPiece) {
  for (int step = 0; step < 4; ++step) {
    int ran = 0;
    float out = 0;
    *static_cast<float*>(bench_.ctx.stream->block(sizeof(float))) = static_cast<float>(step);
    bench_.ctx.stream->repeat_as({}, &out, sizeof(out), [&] { ++ran; });
    EXPECT_EQ(ran, 1);
  }
  EXPECT_EQ(bench_.ctx.stream->recalled(), 0u);
}

TEST_P(Repeat, NoKnownPieceOutlivesMemoryGivenBack) {
  for (int step = 0; step < 4; ++step) keyed_sum(step, 1);
  { const Tensor large({17 << 20}, DType::kU8, GetParam()); }
  EXPECT_TRUE(keyed_sum(4, 1));
  EXPECT_TRUE(keyed_sum(5, 1));
  EXPECT_FALSE(keyed_sum(6, 1));
}

TEST_P(Repeat, ABlockHasABound) {
  EXPECT_EQ(bench_.ctx.stream->block(16 << 20), nullptr);
  EXPECT_TRUE(keyed_sum(0, 1));
}

TEST_P(Repeat, WorkWithTwoDownloadsAlwaysRunsItsCode) {
  StepContext& ctx = bench_.ctx;
  for (int step = 0; step < 5; ++step) {
    std::vector<float> first(8), second(8);
    auto* a = static_cast<float*>(ctx.stream->block(8 * sizeof(float)));
    std::fill_n(a, 8, static_cast<float>(step));
    bool ran = false;
    ctx.stream->repeat_as({7}, first.data(), 8 * sizeof(float), [&] {
      ran = true;
      bench_.arena.reset();
      const View x = ctx.arena.take({1, 8}, DType::kF32);
      store(ctx, std::span<const float>(a, 8), x);
      fetch(ctx, x, std::span<float>(first));
      fetch(ctx, x, std::span<float>(second));
    });
    synchronize(ctx);
    EXPECT_TRUE(ran);
    EXPECT_EQ(second[7], static_cast<float>(step));
  }
}

TEST_P(Repeat, WhatHasNoRoomIsQueuedAsUsual) {
  for (int step = 0; step < 4; ++step) sum(step, 3 << 20);
  EXPECT_EQ(played(), 0u);
}

TEST_P(Repeat, AWaitEndsThePiece) {
  for (int step = 0; step < 5; ++step) {
    float seen = 0, out = 0;
    int ran = 0;
    bench_.ctx.stream->repeat([&] {
      ++ran;
      bench_.arena.reset();
      const View x = bench_.ctx.arena.take({1, 1}, DType::kF32);
      store(bench_.ctx, std::vector<float>(1, static_cast<float>(step)), x);
      fetch(bench_.ctx, x, std::span<float>(&seen, 1));
      synchronize(bench_.ctx);
      EXPECT_EQ(seen, static_cast<float>(step));
      // depends on a number that the host has read
      store(bench_.ctx, std::vector<float>(1, seen + 1), x);
      fetch(bench_.ctx, x, std::span<float>(&out, 1));
    });
    synchronize(bench_.ctx);
    EXPECT_EQ(out, static_cast<float>(step) + 1);
    EXPECT_EQ(ran, 1);
  }
  EXPECT_EQ(played(), 3u);
}

TEST_P(Repeat, StateOfTheHostMovesOnceAStep) {
  // The result depends on the state of a stream, as in a codec.
  const Tensor past({1, 4}, DType::kF32, GetParam());
  int64_t position = 0;
  for (int step = 0; step < 6; ++step) {
    std::vector<float> out(4);
    bench_.ctx.stream->repeat([&] {
      bench_.arena.reset();
      const std::vector<float> here(4, static_cast<float>(position++));
      add_inplace(bench_.ctx, past.view(),
                  upload(bench_.ctx, View{const_cast<float*>(here.data()), DType::kF32, {1, 4}}));
      fetch(bench_.ctx, past.view(), std::span<float>(out));
    });
    synchronize(bench_.ctx);
    EXPECT_EQ(out[3], static_cast<float>(step * (step + 1) / 2));
  }
  EXPECT_EQ(position, 6);
  EXPECT_EQ(played(), 4u);
}

TEST_P(Repeat, AFaultComesOutAndHarmsNoLaterStep) {
  const auto faulty = [&](bool fail) {
    bench_.ctx.stream->repeat([&] {
      bench_.arena.reset();
      const View x = bench_.ctx.arena.take({1, 64}, DType::kF32);
      store(bench_.ctx, std::vector<float>(64, 1), x);
      if (fail) throw InternalError("broken");
      add_inplace(bench_.ctx, x, x);
    });
    synchronize(bench_.ctx);
  };
  faulty(false);
  EXPECT_THROW(faulty(true), InternalError);  // the step fails before it is recorded
  faulty(false), faulty(false);
  EXPECT_EQ(played(), 1u);
  EXPECT_THROW(faulty(true), InternalError);
  faulty(false), faulty(false);
  EXPECT_EQ(played(), 3u);
  sum(3, 300);
}

TEST_P(Repeat, ManyPiecesForgetTheOldest) {
  for (int64_t width = 64; width < 364; ++width) sum(1, width);
  for (int step = 0; step < 3; ++step) sum(step, 64);
  EXPECT_EQ(played(), 1u);  // the earlier recording was dropped
}

TEST_P(Repeat, CodesStayOnTheDevice) {
  const Tensor table = fixture::random({40, 40}, 5), there = copy_to(table, GetParam());
  Bench host;
  for (int step = 0; step < 5; ++step) {
    std::vector<int32_t> got(24);
    bench_.ctx.stream->repeat([&] {
      bench_.arena.reset();
      queue_frame(bench_, there.view(), step, got);
    });
    synchronize(bench_.ctx);
    std::vector<int32_t> want(24);
    queue_frame(host, table.view(), step, want);
    EXPECT_EQ(got, want) << step;
  }
  EXPECT_EQ(played(), 3u);
}

// In builds without the backend, these tests have no device.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Repeat);
INSTANTIATE_TEST_SUITE_P(Devices, Repeat, testing::ValuesIn(gpus()), fixture::device_label);

}  // namespace
}  // namespace syrinx
