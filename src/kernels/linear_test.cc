#include "kernels/linear.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <random>

#include "base/float16.h"
#include "kernels/fixture.h"
#include "kernels/ref/linear_ref.h"

namespace syrinx {
namespace {

using fixture::GuardedOutput;
using fixture::random;
using fixture::relative_rms;
using fixture::rms_error;
using fixture::same_bits;

constexpr WeightType kTypes[] = {WeightType::kF32, WeightType::kBF16, WeightType::kBF16A16,
                                 WeightType::kQ8,  WeightType::kQ8A8, WeightType::kQ4};

double tolerance(WeightType type) {
  switch (type) {
    case WeightType::kF32:
      return 2e-6;
    case WeightType::kBF16:
    case WeightType::kBF16A16:
      return 1e-2;
    case WeightType::kQ8:
    case WeightType::kQ8A8:
      return 3e-2;
    case WeightType::kQ4:
      return 0.15;
    case WeightType::kMixed:
      break;
  }
  return 0;
}

class LinearTest : public ::testing::TestWithParam<std::tuple<Device, WeightType>> {
 protected:
  void SetUp() override {
    if (const std::string why = device_missing(device()); !why.empty()) GTEST_SKIP() << why;
  }
  static Device device() { return std::get<0>(GetParam()); }
  static WeightType type() { return std::get<1>(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Types, LinearTest,
                         ::testing::Combine(::testing::ValuesIn(fixture::devices()),
                                            ::testing::ValuesIn(kTypes)),
                         [](const auto& param) {
                           return fixture::label_of(std::get<0>(param.param)) + "_" +
                                  weight_type_name(std::get<1>(param.param));
                         });

class LinearOnTest : public fixture::OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, LinearOnTest, ::testing::ValuesIn(fixture::devices()),
                         fixture::device_label);

TEST_P(LinearTest, AgreesWithReferenceOnOddShapes) {
  fixture::Bench machine(2, device());
  uint32_t seed = 1;
  const bool few = fixture::emulated(device());
  using Sizes = std::vector<int64_t>;
  for (int64_t in : few ? Sizes{7, 64, 300, 1030} : Sizes{1, 7, 63, 64, 65, 300, 1030}) {
    for (int64_t out : few ? Sizes{1, 33, 130} : Sizes{1, 15, 16, 17, 33, 130}) {
      const Tensor weight = random({out, in}, seed++);
      const Tensor bias = random({out}, seed++);
      const PackedLinear packed = PackedLinear::pack(weight, type(), bias);
      const PackedLinear& placed = machine.weights(packed);
      for (int64_t n : few ? Sizes{1, 8, 13, 40} : Sizes{1, 2, 3, 4, 5, 6, 7, 8, 13, 40, 100}) {
        const Tensor x = random({n, in}, seed++);
        Tensor want({n, out}, DType::kF32);
        ref::linear(x, weight, bias, want);
        GuardedOutput got({n, out});
        linear(machine.ctx, placed, machine.on(x), machine.on(got.view()));
        machine.back();
        ASSERT_TRUE(got.clean()) << n << " " << in << " " << out;
        // The error is divided by the size that an output has without cancellation.
        ASSERT_LT(rms_error(got.view(), want) / std::sqrt(in + 1.0), tolerance(type()))
            << n << " " << in << " " << out;
      }
    }
  }
}

TEST_P(LinearTest, RowDoesNotDependOnBatchOrThreads) {
  // A GPU splits k for a matrix of this size.
  const bool few = fixture::emulated(device());
  const int64_t in = 1100, out = few ? 70 : 1000, rows = few ? 40 : 150;
  const Tensor weight = random({out, in}, 1), x = random({rows, in}, 2);
  const PackedLinear packed = PackedLinear::pack(weight, type());
  fixture::Bench one(1, device()), three(3, device());
  Tensor whole({rows, out}, DType::kF32);
  linear(one.ctx, one.weights(packed), one.on(x), one.on(whole));
  one.back();
  using Sizes = std::vector<int64_t>;
  for (int64_t n : few ? Sizes{7, 11, 33} : Sizes{1, 2, 3, 4, 5, 6, 7, 8, 11, 31, 32, 97, 150}) {
    for (fixture::Bench* machine : {&one, &three}) {
      const PackedLinear& placed = machine->weights(packed);
      for (int64_t begin = 0; begin < rows; begin += n) {
        const int64_t end = std::min(begin + n, rows);
        Tensor part({end - begin, out}, DType::kF32);
        linear(machine->ctx, placed, machine->on(x.view().slice(begin, end)), machine->on(part));
        machine->back();
        ASSERT_TRUE(same_bits(part, whole.view().slice(begin, end))) << n << " at " << begin;
      }
    }
  }
}

TEST_P(LinearTest, PartsAndAddAreThoseOfSeparateLinears) {
  constexpr int64_t kIn = 200;
  const int64_t sizes[] = {48, 17, 5};
  fixture::Bench machine(2, device());
  std::vector<Tensor> weights, biases;
  std::vector<LinearPart> parts;
  for (int64_t i = 0; i < 3; ++i) {
    weights.push_back(random({sizes[i], kIn}, 10 + i));
    biases.push_back(random({sizes[i]}, 20 + i));
    parts.push_back({weights[i], i == 1 ? View{} : biases[i].view()});
  }
  const PackedLinear all = PackedLinear::pack(parts, type());
  ASSERT_EQ(all.out(), 70);
  for (int64_t n : {1, 2, 9, 110}) {  // 110: more than a block
    const Tensor x = random({n, kIn}, 30);
    Tensor joined({n, 70}, DType::kF32), added = random({n, 70}, 31);
    const Tensor before = added.clone();
    linear(machine.ctx, machine.weights(all), machine.on(x), machine.on(joined));
    machine.back();
    linear_add(machine.ctx, machine.weights(all), machine.on(x), machine.on(added));
    machine.back();
    GuardedOutput outs[] = {GuardedOutput({n, 48}), GuardedOutput({n, 17}), GuardedOutput({n, 5})};
    const View views[] = {outs[0].view(), outs[1].view(), outs[2].view()};
    const View seen[] = {machine.on(views[0]), machine.on(views[1]), machine.on(views[2])};
    linear_parts(machine.ctx, machine.weights(all), machine.on(x), seen);
    machine.back();
    int64_t column = 0;
    for (int64_t i = 0; i < 3; ++i) {
      Tensor alone({n, sizes[i]}, DType::kF32);
      linear(machine.ctx, machine.weights(PackedLinear::pack(weights[i], type(), parts[i].bias)),
             machine.on(x), machine.on(alone));
      machine.back();
      EXPECT_TRUE(outs[i].clean());
      EXPECT_TRUE(same_bits(views[i], alone)) << "part " << i;
      for (int64_t r = 0; r < n; ++r) {
        for (int64_t o = 0; o < sizes[i]; ++o) {
          const int64_t at = r * 70 + column + o;
          ASSERT_EQ(joined.f32()[at], alone.f32()[r * sizes[i] + o]);
          ASSERT_EQ(added.f32()[at], before.f32()[at] + joined.f32()[at]);
        }
      }
      column += sizes[i];
    }
  }
}

TEST_P(LinearOnTest, AGainIsPackedAsItsProducts) {
  fixture::Bench machine(2, GetParam());
  const int64_t in = 130, out = 40, rows = 5;
  const Tensor weight = random({out, in}, 1), bias = random({out}, 2), gain = random({out}, 3),
               x = random({rows, in}, 4);
  const Tensor scaled = weight.clone(), offset = bias.clone();
  for (int64_t o = 0; o < out; ++o) {
    for (int64_t i = 0; i < in; ++i) scaled.f32()[o * in + i] *= gain.f32()[o];
    offset.f32()[o] *= gain.f32()[o];
  }
  for (const WeightType type : {WeightType::kF32, WeightType::kQ8}) {
    const LinearPart part{weight, bias, gain};
    const PackedLinear want = PackedLinear::pack(scaled, type, offset),
                       got = PackedLinear::pack(std::span(&part, 1), type);
    Tensor a({rows, out}, DType::kF32), b({rows, out}, DType::kF32);
    linear(machine.ctx, machine.weights(want), machine.on(x), machine.on(a));
    linear(machine.ctx, machine.weights(got), machine.on(x), machine.on(b));
    machine.back();
    EXPECT_TRUE(same_bits(a, b)) << weight_type_name(type);
  }
  const LinearPart wrong{weight, bias, x};
  EXPECT_THROW(PackedLinear::pack(std::span(&wrong, 1), WeightType::kF32), InternalError);
}

TEST_P(LinearTest, GatedIsSiluTimesUp) {
  constexpr int64_t kIn = 96, kOut = 41;
  fixture::Bench machine(2, device());
  const Tensor gate = random({kOut, kIn}, 1), up = random({kOut, kIn}, 2);
  const Tensor bias = random({kOut}, 3);
  const PackedLinear packed = PackedLinear::pack_gated({gate, bias}, {up}, type());
  Tensor whole({30, kOut}, DType::kF32);
  const Tensor x = random({30, kIn}, 4);
  linear(machine.ctx, machine.weights(packed), machine.on(x), machine.on(whole));
  machine.back();
  for (int64_t n : {1, 2, 3, 5, 30}) {
    Tensor g({n, kOut}, DType::kF32), u({n, kOut}, DType::kF32), want({n, kOut}, DType::kF32);
    const View some = x.view().slice(0, n);
    linear(machine.ctx, machine.weights(PackedLinear::pack(gate, type(), bias)), machine.on(some),
           machine.on(g));
    machine.back();
    linear(machine.ctx, machine.weights(PackedLinear::pack(up, type())), machine.on(some),
           machine.on(u));
    machine.back();
    ref::silu_gate(g, u, want);
    GuardedOutput got({n, kOut});
    linear(machine.ctx, machine.weights(packed), machine.on(some), machine.on(got.view()));
    machine.back();
    EXPECT_TRUE(got.clean());
    EXPECT_LT(relative_rms(got.view(), want), 1e-6);
    EXPECT_TRUE(same_bits(got.view(), whole.view().slice(0, n)));
  }
}

TEST_P(LinearOnTest, SiluIsSafeAtTheEnds) {
  fixture::Bench machine(1, GetParam());
  Tensor gate({16, 1}, DType::kF32), up({16, 1}, DType::kF32), x({1, 1}, DType::kF32);
  const float values[] = {-1e30f, -200, -88, -87, -30, -1,  -1e-20f, 0,
                          1e-20f, 1,    30,  87,  88,  200, 1e30f,   2};
  for (int i = 0; i < 16; ++i) gate.f32()[i] = values[i], up.f32()[i] = 1;
  x.f32()[0] = 1;
  Tensor got({1, 16}, DType::kF32), want({1, 16}, DType::kF32);
  linear(machine.ctx, machine.weights(PackedLinear::pack_gated({gate}, {up}, WeightType::kF32)),
         machine.on(x), machine.on(got));
  machine.back();
  ref::silu_gate(gate.view().reshape({1, 16}), up.view().reshape({1, 16}), want);
  for (int i = 0; i < 16; ++i) {
    const float bound = 1e-6f * std::fabs(want.f32()[i]);
    EXPECT_NEAR(got.f32()[i], want.f32()[i],
                values[i] < -80 ? std::fabs(values[i]) * 2e-38f : bound)
        << values[i];
  }
}

TEST_P(LinearOnTest, HalfWeightsAreReadExactly) {
  fixture::Bench machine(1, GetParam());
  Tensor half({3, 2}, DType::kF16), brain({3, 2}, DType::kBF16), x({1, 2}, DType::kF32);
  const uint16_t f16[] = {0x3c00, 0xc000, 0x0001, 0x7bff, 0x3555, 0x8000};
  for (int i = 0; i < 6; ++i) half.view().f16()[i] = f16[i], brain.view().bf16()[i] = 0x3f80 + i;
  x.f32()[0] = 1;
  Tensor got({1, 3}, DType::kF32);
  linear(machine.ctx, machine.weights(PackedLinear::pack(half, WeightType::kF32)), machine.on(x),
         machine.on(got));
  machine.back();
  EXPECT_EQ(got.f32()[0], 1.0f);
  EXPECT_EQ(got.f32()[1], 0x1p-24f);
  EXPECT_EQ(got.f32()[2], 0.333251953125f);
  linear(machine.ctx, machine.weights(PackedLinear::pack(brain, WeightType::kBF16)), machine.on(x),
         machine.on(got));
  machine.back();
  EXPECT_EQ(got.f32()[1], bf16_to_f32(0x3f82));
}

// Checks the errors that linear.h states.
TEST_P(LinearOnTest, ErrorIsAsStated) {
  constexpr int64_t kIn = 1024, kOut = 256, kRows = 16;
  fixture::Bench machine(2, GetParam());
  std::mt19937 engine(5);
  std::student_t_distribution<float> heavy(3.0f);
  for (const bool tails : {false, true}) {
    Tensor weight = random({kOut, kIn}, 1), x = random({kRows, kIn}, 2);
    if (tails) {
      for (int64_t i = 0; i < weight.view().count(); ++i) weight.f32()[i] = heavy(engine);
      for (int64_t i = 0; i < x.view().count(); ++i) x.f32()[i] = heavy(engine);
    }
    Tensor want({kRows, kOut}, DType::kF32), got({kRows, kOut}, DType::kF32);
    ref::linear(x, weight, {}, want);
    const char* tail = tails ? "Student t3" : "Gaussian";
    for (const WeightType type : {WeightType::kBF16, WeightType::kBF16A16, WeightType::kQ8,
                                  WeightType::kQ8A8, WeightType::kQ4}) {
      linear(machine.ctx, machine.weights(PackedLinear::pack(weight, type)), machine.on(x),
             machine.on(got));
      machine.back();
      const double error = relative_rms(got, want);
      std::printf("%s relative RMS error, %s: %.4f\n", weight_type_name(type), tail, error);
      const double bound = type == WeightType::kBF16      ? 0.0025
                           : type == WeightType::kBF16A16 ? 0.003
                           : type == WeightType::kQ8      ? (tails ? 0.013 : 0.0065)
                           : type == WeightType::kQ8A8    ? (tails ? 0.017 : 0.009)
                                                          : (tails ? 0.1 : 0.075);
      EXPECT_LT(error, bound);
    }
  }
}

TEST_P(LinearOnTest, Q4OfVerySmallAndVeryLargeWeightsStaysFinite) {
  fixture::Bench machine(1, GetParam());
  for (const float size : {0.0f, 1e-44f, 1e-36f, 1e-3f, 1e4f, 1e30f}) {
    Tensor weight = random({16, 64}, 1, size), x = random({1, 64}, 2);
    Tensor want({1, 16}, DType::kF32), got({1, 16}, DType::kF32);
    ref::linear(x, weight, {}, want);
    linear(machine.ctx, machine.weights(PackedLinear::pack(weight, WeightType::kQ4)), machine.on(x),
           machine.on(got));
    machine.back();
    for (int64_t o = 0; o < 16; ++o) {
      EXPECT_TRUE(std::isfinite(got.f32()[o]));
      if (size < 1e6f) {
        EXPECT_NEAR(got.f32()[o], want.f32()[o], size > 1e-32f ? 3 * size : 1e-33) << size;
      }
    }
  }
}

TEST_P(LinearOnTest, Q8OfVerySmallAndVeryLargeWeightsStaysFinite) {
  fixture::Bench machine(1, GetParam());
  for (const float size : {0.0f, 1e-44f, 1e-36f, 1e-30f, 1e30f}) {
    Tensor weight = random({16, 64}, 1, size), x = random({1, 64}, 2);
    Tensor want({1, 16}, DType::kF32), got({1, 16}, DType::kF32);
    ref::linear(x, weight, {}, want);
    linear(machine.ctx, machine.weights(PackedLinear::pack(weight, WeightType::kQ8)), machine.on(x),
           machine.on(got));
    machine.back();
    for (int64_t o = 0; o < 16; ++o) {
      EXPECT_NEAR(got.f32()[o], want.f32()[o], size > 1e-32f ? 0.3 * size : 1e-33) << size;
    }
  }
}

TEST_P(LinearOnTest, WrongShapesAreBugs) {
  fixture::Bench machine(1, GetParam());
  const PackedLinear packed = PackedLinear::pack(random({8, 4}, 1), WeightType::kF32);
  Tensor x({2, 5}, DType::kF32), out({2, 8}, DType::kF32), narrow({2, 7}, DType::kF32);
  EXPECT_THROW(linear(machine.ctx, machine.weights(packed), machine.on(x), machine.on(out)),
               InternalError);
  Tensor right({2, 4}, DType::kF32);
  EXPECT_THROW(linear(machine.ctx, machine.weights(packed), machine.on(right), machine.on(narrow)),
               InternalError);
  EXPECT_NO_THROW(linear(machine.ctx, machine.weights(packed), machine.on(right), machine.on(out)));
}

}  // namespace
}  // namespace syrinx
