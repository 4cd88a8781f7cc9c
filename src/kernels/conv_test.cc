#include "kernels/conv.h"

#include <gtest/gtest.h>

#include "kernels/conv_add.h"
#include "kernels/fixture.h"
#include "kernels/ref/conv_ref.h"

namespace syrinx {
namespace {

using fixture::GuardedOutput;
using fixture::random;
using fixture::relative_rms;
using fixture::same_bits;

class ConvTest : public fixture::OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, ConvTest, ::testing::ValuesIn(fixture::devices()),
                         fixture::device_label);

struct ConvCase {
  int64_t in, out, taps, dilation, stride, groups;
};

constexpr ConvCase kCases[] = {
    {1, 1, 1, 1, 1, 1},    {3, 5, 7, 1, 1, 1},    {16, 16, 7, 3, 1, 1},  {64, 64, 7, 9, 1, 1},
    {40, 33, 3, 2, 1, 1},  {300, 20, 5, 1, 2, 1}, {300, 20, 3, 4, 1, 1}, {1, 32, 10, 1, 5, 1},
    {64, 1, 7, 1, 1, 1},   {24, 24, 7, 1, 1, 24}, {9, 9, 4, 2, 3, 9},    {32, 48, 3, 1, 1, 4},
    {20, 10, 5, 2, 2, 5},  {600, 40, 1, 1, 1, 1}, {96, 2, 7, 1, 1, 1},   {48, 200, 3, 2, 1, 1},
    {20, 130, 5, 1, 2, 1}, {32, 160, 2, 1, 1, 2},
};

TEST_P(ConvTest, AgreesWithReference) {
  fixture::Bench machine(2, GetParam());
  uint32_t seed = 1;
  for (const ConvCase& c : kCases) {
    const Tensor weight = random({c.out, c.in / c.groups, c.taps}, seed++);
    const Tensor bias = random({c.out}, seed++);
    const PackedConv1d packed = PackedConv1d::pack(weight, bias, c.groups);
    for (int64_t t : {1, 6, 60, 400}) {
      const int64_t rows = conv_rows(t, c.taps, c.dilation, c.stride);
      const Tensor x = random({t, c.in}, seed++);
      Tensor want({rows, c.out}, DType::kF32);
      ref::conv1d(x, weight, bias, c.dilation, c.stride, c.groups, want);
      GuardedOutput got({rows, c.out});
      conv1d(machine.ctx, machine.weights(packed), machine.on(x), machine.on(got.view()),
             c.dilation, c.stride);
      machine.back();
      ASSERT_TRUE(got.clean()) << c.in << " " << c.out << " t " << t;
      ASSERT_LT(relative_rms(got.view(), want), 2e-6) << c.in << " " << c.out << " t " << t;
    }
  }
}

TEST(ConvAdd, HasTheBitsOfAConvolutionAndASum) {
  fixture::Bench machine(2, Device::kCpu);
  for (const WeightType type : {WeightType::kF32, WeightType::kBF16A16}) {
    uint32_t seed = 1;
    for (const ConvCase& c : kCases) {
      if (c.stride > 1 || (c.groups > 1 && c.groups == c.in)) continue;
      const PackedConv1d packed = PackedConv1d::pack(random({c.out, c.in / c.groups, c.taps}, seed),
                                                     random({c.out}, seed + 1), c.groups, type);
      const Tensor x = random({60, c.in}, seed + 2);
      const int64_t rows = conv_rows(60, c.taps, c.dilation, 1);
      const Tensor before = random({rows, c.out}, seed + 3);
      Tensor want({rows, c.out}, DType::kF32);
      conv1d(machine.ctx, packed, x, want, c.dilation);
      GuardedOutput got({rows, c.out});
      for (int64_t i = 0; i < rows * c.out; ++i) {
        want.f32()[i] = before.f32()[i] + want.f32()[i];
        got.view().f32()[i] = before.f32()[i];
      }
      conv1d_add(machine.ctx, packed, x, got.view(), c.dilation);
      ASSERT_TRUE(got.clean());
      ASSERT_TRUE(same_bits(got.view(), want)) << c.in << " " << c.out;
      seed += 4;
    }
  }
}

TEST_P(ConvTest, HalvesAreClose) {
  fixture::Bench machine(2, GetParam());
  for (const WeightType type : {WeightType::kBF16, WeightType::kBF16A16}) {
    uint32_t seed = 1;
    for (const ConvCase& c : kCases) {
      const Tensor weight = random({c.out, c.in / c.groups, c.taps}, seed++);
      const Tensor x = random({600, c.in}, seed++);
      const int64_t rows = conv_rows(600, c.taps, c.dilation, c.stride);
      Tensor want({rows, c.out}, DType::kF32);
      ref::conv1d(x, weight, {}, c.dilation, c.stride, c.groups, want);
      GuardedOutput got({rows, c.out});
      conv1d(machine.ctx, machine.weights(PackedConv1d::pack(weight, {}, c.groups, type)),
             machine.on(x), machine.on(got.view()), c.dilation, c.stride);
      machine.back();
      ASSERT_TRUE(got.clean()) << c.in << " " << c.out;
      EXPECT_LT(relative_rms(got.view(), want), 5e-3) << c.in << " " << c.out;
    }
  }
}

TEST_P(ConvTest, SegmentsAndThreadsDoNotChangeARow) {
  fixture::Bench one(1, GetParam()), three(3, GetParam());
  std::vector<std::pair<ConvCase, WeightType>> cases;
  for (const ConvCase& c : kCases) {
    for (const WeightType type : {WeightType::kF32, WeightType::kBF16A16})
      cases.push_back({c, type});
  }
  for (const auto& [c, type] : cases) {
    const Tensor weight = random({c.out, c.in / c.groups, c.taps}, 1);
    const PackedConv1d packed = PackedConv1d::pack(weight, {}, c.groups, type);
    const int64_t window = conv_window(c.taps, c.dilation);
    const int64_t rows = fixture::emulated(GetParam()) ? 100 : 700;
    const Tensor x = random({(rows - 1) * c.stride + window, c.in}, 2);
    Tensor whole({rows, c.out}, DType::kF32), parts({rows, c.out}, DType::kF32);
    conv1d(one.ctx, one.weights(packed), one.on(x), one.on(whole), c.dilation, c.stride);
    one.back();
    std::vector<ConvSegment> segments;
    for (int64_t begin = 0, n = 1; begin < rows; begin += n, n = n % 17 + 1) {
      n = std::min(n, rows - begin);
      segments.push_back({x.view().slice(begin * c.stride, (begin + n - 1) * c.stride + window),
                          parts.view().slice(begin, begin + n)});
    }
    std::vector<ConvSegment> seen;
    for (const ConvSegment& s : segments) seen.push_back({three.on(s.x), three.on(s.out)});
    conv1d(three.ctx, three.weights(packed), seen, c.dilation, c.stride);
    three.back();
    EXPECT_TRUE(same_bits(parts, whole)) << c.in << " " << c.out;
    for (size_t i = 0; i < std::min<size_t>(20, segments.size()); ++i) {
      Tensor alone(segments[i].out.shape, DType::kF32);
      conv1d(three.ctx, three.weights(packed), three.on(segments[i].x), three.on(alone), c.dilation,
             c.stride);
      three.back();
      EXPECT_TRUE(same_bits(alone, segments[i].out)) << c.in << " " << c.out;
    }
  }
}

// An environment variable selects the product without tensor cores, to compare both products.
TEST_P(ConvTest, TensorCoresCanBeLeftOut) {
  if (GetParam() == Device::kCpu) GTEST_SKIP() << "of a GPU";
  fixture::Bench machine(1, GetParam());
  const Tensor weight = random({80, 16, 3}, 1), x = random({70, 16}, 2);
  const PackedConv1d packed = PackedConv1d::pack(weight, {}, 1, WeightType::kBF16A16);
  Tensor want({68, 80}, DType::kF32), with({68, 80}, DType::kF32), without({68, 80}, DType::kF32);
  ref::conv1d(x, weight, {}, 1, 1, 1, want);
  conv1d(machine.ctx, machine.weights(packed), machine.on(x), machine.on(with));
  machine.back();
  setenv("SYRINX_GPU_CONVS", "f32", 1);
  conv1d(machine.ctx, machine.weights(packed), machine.on(x), machine.on(without));
  unsetenv("SYRINX_GPU_CONVS");
  machine.back();
  // bf16 weights have an error of 1.6e-3. Rounding x, too, increases the error by half.
  EXPECT_LT(relative_rms(without, want), 2e-3);
  EXPECT_GT(relative_rms(with, without), 5e-4);
  EXPECT_LT(relative_rms(with, want), 4e-3);
}

// Rows of x that do not begin at multiples of 16 bytes are read one number at a time.
TEST_P(ConvTest, WhereRowsLieDoesNotChangeThem) {
  fixture::Bench machine(1, GetParam());
  const PackedConv1d packed =
      PackedConv1d::pack(random({80, 16, 3}, 1), {}, 1, WeightType::kBF16A16);
  const Tensor x = random({70, 16}, 2);
  Tensor shifted({70 * 16 + 1}, DType::kF32), want({68, 80}, DType::kF32),
      got({68, 80}, DType::kF32);
  std::copy_n(x.f32(), 70 * 16, shifted.f32() + 1);
  const View there = machine.on(shifted);
  conv1d(machine.ctx, machine.weights(packed), machine.on(x), machine.on(want));
  conv1d(machine.ctx, machine.weights(packed),
         View{there.f32() + 1, DType::kF32, {70, 16}, there.device}, machine.on(got));
  machine.back();
  EXPECT_TRUE(same_bits(got, want));
}

TEST_P(ConvTest, TransposedAgreesWithReference) {
  fixture::Bench machine(2, GetParam());
  uint32_t seed = 1;
  const ConvCase cases[] = {{3, 5, 4, 1, 2, 1},    {64, 32, 16, 1, 8, 1}, {33, 17, 7, 1, 3, 1},
                            {8, 1, 2, 1, 2, 1},    {16, 16, 3, 1, 5, 1},  {20, 24, 5, 1, 1, 1},
                            {24, 24, 4, 1, 2, 24}, {9, 9, 7, 1, 3, 9},    {600, 600, 4, 1, 2, 600}};
  for (const ConvCase& c : cases) {
    const Tensor weight = random({c.in, c.out / c.groups, c.taps}, seed++);
    const Tensor bias = random({c.out}, seed++);
    const auto packed =
        PackedConvTranspose1d::pack(weight, c.stride, bias, WeightType::kF32, c.groups);
    EXPECT_EQ(packed.depthwise(), c.groups > 1);
    const int64_t before = packed.window() - 1;
    for (int64_t t : {1, 5, 100}) {
      Tensor x({before + t, c.in}, DType::kF32);
      const Tensor data = random({t, c.in}, seed++);
      std::copy_n(data.f32(), t * c.in, x.f32() + before * c.in);
      Tensor full({(t - 1) * c.stride + c.taps, c.out}, DType::kF32);
      ref::conv_transpose1d(data, weight, bias, c.stride, full, c.groups);
      GuardedOutput got({t * c.stride, c.out});
      conv_transpose1d(machine.ctx, machine.weights(packed), machine.on(x), machine.on(got.view()));
      machine.back();
      ASSERT_TRUE(got.clean());
      // If K is less than the stride, torch's output ends earlier. The remaining samples contain
      // only the bias.
      const int64_t rows = std::min(full.shape()[0], t * c.stride);
      ASSERT_LT(relative_rms(got.view().slice(0, rows), full.view().slice(0, rows)), 2e-6)
          << c.in << " " << c.out << " t " << t;
    }
  }
}

TEST_P(ConvTest, WrongShapesAreBugs) {
  fixture::Bench machine(1, GetParam());
  const PackedConv1d packed = PackedConv1d::pack(random({8, 4, 3}, 1));
  Tensor x({10, 4}, DType::kF32), out({9, 8}, DType::kF32);
  EXPECT_THROW(conv1d(machine.ctx, machine.weights(packed), machine.on(x), machine.on(out)),
               InternalError);
  Tensor right({8, 8}, DType::kF32);
  EXPECT_NO_THROW(conv1d(machine.ctx, machine.weights(packed), machine.on(x), machine.on(right)));
}

}  // namespace
}  // namespace syrinx
