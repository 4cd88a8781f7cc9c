#include "nn/conv.h"

#include <gtest/gtest.h>

#include <random>

#include "kernels/copy.h"
#include "kernels/fixture.h"
#include "kernels/ref/conv_ref.h"

namespace syrinx {
namespace {

using fixture::random;
using fixture::relative_rms;
using fixture::same_bits;

struct Case {
  int64_t in, out, taps, dilation, stride, groups;
};

constexpr Case kCases[] = {{5, 7, 7, 1, 1, 1},  {16, 20, 7, 9, 1, 1},  {8, 8, 3, 2, 1, 8},
                           {12, 6, 4, 1, 2, 1}, {30, 16, 10, 1, 5, 1}, {8, 8, 1, 1, 1, 1}};

/// Runs the layer on x in random chunks, some of them empty. Marks the end in the last chunk that
/// has input, or in a separate call.
template <class Layer>
Tensor stream(StepContext& ctx, const Layer& layer, const View& x, int64_t rows, uint32_t seed) {
  std::mt19937 engine(seed);
  ConvState state = layer.open();
  Tensor out({rows, layer.out()}, DType::kF32);
  int64_t written = 0, begin = 0;
  for (bool last = false; !last;) {
    const int64_t end = std::min<int64_t>(begin + engine() % 9, x.shape[0]);
    last = end == x.shape[0] && (begin == end || engine() % 2);
    const int64_t n = layer.rows(state, end - begin, last);
    const ConvJob job{x.slice(begin, end), &state, out.view().slice(written, written + n), last};
    layer.run(ctx, std::span(&job, 1));
    begin = end;
    written += n;
    if (engine() % 8 == 0) state = state.clone();
  }
  EXPECT_EQ(written, rows);
  return out;
}

TEST(CausalConv, StreamedIsWhole) {
  ThreadPool pool(2);
  Arena arena;
  StepContext ctx{pool, arena};
  for (const ConvPad pad : {ConvPad::kZero, ConvPad::kReplicate}) {
    for (const Case& c : kCases) {
      const Tensor weight = random({c.out, c.in / c.groups, c.taps}, 1);
      const Tensor bias = random({c.out}, 2), x = random({100, c.in}, 3);
      const CausalConv1d layer(
          weight, bias,
          {.dilation = c.dilation, .stride = c.stride, .groups = c.groups, .pad = pad});
      const int64_t rows = 100 / c.stride;
      const int64_t left = conv_window(c.taps, c.dilation) - c.stride;
      Tensor padded({left + 100, c.in}, DType::kF32), want({rows, c.out}, DType::kF32);
      for (int64_t r = 0; r < left && pad == ConvPad::kReplicate; ++r) {
        std::copy_n(x.f32(), c.in, padded.f32() + r * c.in);
      }
      std::copy_n(x.f32(), 100 * c.in, padded.f32() + left * c.in);
      ref::conv1d(padded, weight, bias, c.dilation, c.stride, c.groups, want);
      ConvState state = layer.open();
      Tensor whole({rows, c.out}, DType::kF32);
      layer.run(ctx, x, state, whole);
      EXPECT_LT(relative_rms(whole, want), 2e-6);
      for (uint32_t seed = 0; seed < 5; ++seed) {
        EXPECT_TRUE(same_bits(stream(ctx, layer, x, rows, seed), whole)) << c.taps << " " << seed;
      }
    }
  }
}

TEST(CausalConv, MirrorsItsFirstInputs) {
  ThreadPool pool(2);
  Arena arena;
  StepContext ctx{pool, arena};
  const int64_t in = 6, out = 5, taps = 7, rows = 40, left = taps - 1;
  const Tensor weight = random({out, in, taps}, 1), bias = random({out}, 2),
               x = random({rows, in}, 3);
  const CausalConv1d layer(weight, bias, {.pad = ConvPad::kReflect});
  Tensor padded({left + rows, in}, DType::kF32), want({rows, out}, DType::kF32);
  for (int64_t r = 0; r < left + rows; ++r)
    std::copy_n(x.f32() + std::abs(r - left) * in, in, padded.f32() + r * in);
  ref::conv1d(padded, weight, bias, 1, 1, 1, want);
  for (const int64_t first : {left + 1, rows - 2, rows}) {
    ConvState state = layer.open();
    Tensor got({rows, out}, DType::kF32);
    layer.run(ctx, x.view().slice(0, first), state, got.view().slice(0, first));
    if (first < rows)
      layer.run(ctx, x.view().slice(first, rows), state, got.view().slice(first, rows));
    EXPECT_LT(relative_rms(got, want), 2e-6) << first;
  }
  ConvState state = layer.open();
  Tensor few({left, out}, DType::kF32);
  EXPECT_THROW(layer.run(ctx, x.view().slice(0, left), state, few), InternalError);
}

TEST(CausalConvTranspose, StreamedIsWhole) {
  ThreadPool pool(2);
  Arena arena;
  StepContext ctx{pool, arena};
  for (const Case& c : {Case{5, 7, 4, 1, 2, 1}, Case{32, 16, 16, 1, 8, 1}, Case{6, 3, 7, 1, 3, 1},
                        Case{4, 4, 2, 1, 2, 1}, Case{12, 12, 4, 1, 2, 12}}) {
    const Tensor weight = random({c.in, c.out / c.groups, c.taps}, 1), bias = random({c.out}, 2);
    const Tensor x = random({50, c.in}, 3);
    const CausalConvTranspose1d layer(weight, bias, c.stride, WeightType::kF32, 0, c.groups);
    Tensor full({49 * c.stride + c.taps, c.out}, DType::kF32);
    ref::conv_transpose1d(x, weight, bias, c.stride, full, c.groups);
    ConvState state = layer.open();
    Tensor whole({50 * c.stride, c.out}, DType::kF32);
    layer.run(ctx, x, state, whole);
    EXPECT_LT(relative_rms(whole, full.view().slice(0, 50 * c.stride)), 2e-6);
    for (uint32_t seed = 0; seed < 5; ++seed) {
      EXPECT_TRUE(same_bits(stream(ctx, layer, x, 50 * c.stride, seed), whole)) << c.taps;
    }
  }
}

TEST(CausalConv, LookingAheadIsSamePadding) {
  ThreadPool pool(2);
  Arena arena;
  StepContext ctx{pool, arena};
  for (const Case& c : {Case{16, 20, 7, 9, 1, 1}, Case{8, 8, 7, 3, 1, 8}, Case{5, 7, 4, 1, 1, 1}}) {
    const Tensor weight = random({c.out, c.in / c.groups, c.taps}, 1), bias = random({c.out}, 2);
    const int64_t window = conv_window(c.taps, c.dilation), ahead = (window - 1) / 2;
    const CausalConv1d layer(weight, bias,
                             {.dilation = c.dilation, .groups = c.groups, .ahead = ahead});
    for (const int64_t rows : {0, 1, 2, 26, 27, 28, 60}) {
      const Tensor x = random({rows, c.in}, 3);
      Tensor padded({window - 1 + rows, c.in}, DType::kF32), want({rows, c.out}, DType::kF32);
      std::copy_n(x.f32(), x.view().count(), padded.f32() + (window - 1 - ahead) * c.in);
      if (rows > 0) ref::conv1d(padded, weight, bias, c.dilation, 1, c.groups, want);
      for (uint32_t seed = 0; seed < 5; ++seed) {
        const Tensor got = stream(ctx, layer, x, rows, seed);
        EXPECT_LT(relative_rms(got, want), 2e-6) << c.taps << " " << rows << " " << seed;
        EXPECT_TRUE(same_bits(got, stream(ctx, layer, x, rows, seed + 100)));
      }
    }
  }
}

TEST(CausalConvTranspose, CroppedAsTorchPads) {
  ThreadPool pool(2);
  Arena arena;
  StepContext ctx{pool, arena};
  for (const Case& c :
       {Case{5, 7, 4, 1, 2, 1}, Case{32, 16, 16, 1, 8, 1}, Case{6, 3, 6, 1, 3, 1}}) {
    const int64_t crop = (c.stride + 1) / 2;
    const Tensor weight = random({c.in, c.out, c.taps}, 1), bias = random({c.out}, 2);
    const CausalConvTranspose1d layer(weight, bias, c.stride, WeightType::kF32, crop);
    for (const int64_t rows : {0, 1, 2, 30}) {
      const Tensor x = random({rows, c.in}, 3);
      Tensor full({std::max<int64_t>(rows - 1, 0) * c.stride + c.taps, c.out}, DType::kF32);
      if (rows > 0) ref::conv_transpose1d(x, weight, bias, c.stride, full);
      const View want = full.view().slice(crop, crop + rows * c.stride);
      for (uint32_t seed = 0; seed < 5; ++seed) {
        const Tensor got = stream(ctx, layer, x, rows * c.stride, seed);
        EXPECT_LT(relative_rms(got, want), 2e-6) << c.taps << " " << rows << " " << seed;
        EXPECT_TRUE(same_bits(got, stream(ctx, layer, x, rows * c.stride, seed + 100)));
      }
    }
  }
}

/// The pasts of several layers share their memory, and so do copies of them.
TEST(CausalConv, StatesThatShareMemoryStayApart) {
  ThreadPool pool(1);
  Arena arena;
  StepContext ctx{pool, arena};
  const CausalConv1d wide(random({5, 3, 7}, 1), random({5}, 2)),
      narrow(random({3, 5, 2}, 3), random({3}, 4));
  const CausalConv1d* const layers[] = {&wide, &narrow, &wide};
  ConvStates states(layers);
  std::vector<ConvState> alone;
  for (const CausalConv1d* layer : layers) alone.push_back(layer->open());
  const auto run = [&](std::span<ConvState> of, uint32_t seed) {
    std::vector<Tensor> outs;
    for (size_t i = 0; i < of.size(); ++i) {
      const Tensor x = random({4, layers[i]->in()}, seed + static_cast<uint32_t>(i));
      outs.emplace_back(Shape{4, layers[i]->out()}, DType::kF32);
      layers[i]->run(ctx, x, of[i], outs.back());
    }
    return outs;
  };
  const auto expect_same = [&](const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
    for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(same_bits(a[i], b[i])) << i;
  };
  expect_same(run(states.all(), 10), run(alone, 10));
  ConvStates cloned = states.clone();
  const Tensor scratch(states.memory().shape, DType::kF32);
  copy(ctx, states.memory(), scratch);
  std::vector<ConvState> borrowed = states.in(scratch);
  const std::vector<Tensor> want = run(alone, 20);
  expect_same(run(cloned.all(), 20), want);
  expect_same(run(borrowed, 20), want);
  expect_same(run(states.all(), 20), want);
}

TEST(CausalConv, JobsOfOneCallAreThoseOfSeparateCalls) {
  ThreadPool pool(2);
  Arena arena;
  StepContext ctx{pool, arena};
  const CausalConv1d layer(random({24, 16, 7}, 1), random({24}, 2), {.dilation = 3});
  constexpr int64_t kStreams = 5;
  std::vector<ConvState> alone, together;
  for (int64_t s = 0; s < kStreams; ++s) {
    alone.push_back(layer.open());
    together.push_back(layer.open());
  }
  for (uint32_t round = 0; round < 4; ++round) {
    std::vector<Tensor> xs, want, got;
    for (int64_t s = 0; s < kStreams; ++s) {
      const int64_t t = (s * 3 + round) % 7;
      xs.push_back(random({t, 16}, 100 + round * 10 + static_cast<uint32_t>(s)));
      want.emplace_back(Shape{t, 24}, DType::kF32);
      got.emplace_back(Shape{t, 24}, DType::kF32);
      layer.run(ctx, xs[s], alone[s], want[s]);
    }
    std::vector<ConvJob> jobs;
    for (int64_t s = 0; s < kStreams; ++s) jobs.push_back({xs[s], &together[s], got[s]});
    layer.run(ctx, jobs);
    for (int64_t s = 0; s < kStreams; ++s) EXPECT_TRUE(same_bits(got[s], want[s]));
  }
}

}  // namespace
}  // namespace syrinx
