#include "kernels/activation.h"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/activation_impl.h"
#include "kernels/fixture.h"

namespace syrinx {
namespace {

using fixture::Bench;

class ActivationTest : public fixture::OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, ActivationTest, ::testing::ValuesIn(fixture::devices()),
                         fixture::device_label);

constexpr Activation kAll[] = {Activation::kNone,     Activation::kSilu,    Activation::kGelu,
                               Activation::kGeluTanh, Activation::kElu,     Activation::kRelu,
                               Activation::kTanh,     Activation::kSigmoid, Activation::kMish};

TEST_P(ActivationTest, AgreesWithTheExactFunctions) {
  Bench bench(2, GetParam());
  constexpr int kCount = 40003;
  Tensor x({kCount}, DType::kF32), out = fixture::poisoned({kCount}), want({kCount}, DType::kF32);
  for (int i = 0; i < kCount; ++i) x.f32()[i] = static_cast<float>(i - 20000) / 1000;
  for (const Activation f : kAll) {
    activate(bench.ctx, f, bench.on(x), bench.on(out));
    bench.back();
    ref::activate(f, x.f32(), want.f32(), kCount);
    for (int i = 0; i < kCount; ++i) {
      const double scale = std::fmax(std::fabs(want.f32()[i]), std::fabs(x.f32()[i]) * 0.25);
      ASSERT_NEAR(out.f32()[i], want.f32()[i], 1e-6 * scale + 1e-12)
          << static_cast<int>(f) << " at " << x.f32()[i];
    }
  }
}

TEST_P(ActivationTest, ExtremesStayFiniteAndNanStays) {
  Bench bench(1, GetParam());
  Tensor x({10}, DType::kF32), out({10}, DType::kF32);
  const float values[] = {-1e30f, -200, -88, 88, 200, 1e30f, 0, -0.f, 1e-30f, NAN};
  std::copy_n(values, 10, x.f32());
  for (const Activation f : kAll) {
    activate(bench.ctx, f, bench.on(x), bench.on(out));
    bench.back();
    for (int i = 0; i < 9; ++i)
      EXPECT_TRUE(std::isfinite(out.f32()[i])) << static_cast<int>(f) << " at " << values[i];
    EXPECT_TRUE(std::isnan(out.f32()[9])) << static_cast<int>(f);
  }
}

TEST_P(ActivationTest, AnElementDoesNotKnowItsPlace) {
  Bench one(1, GetParam()), three(3, GetParam());
  const Tensor x = fixture::random({1, 100001}, 1, 4);
  Tensor whole(x.shape(), DType::kF32), part({1, 1}, DType::kF32);
  for (const Activation f : kAll) {
    activate(three.ctx, f, three.on(x), three.on(whole));
    three.back();
    for (const int i : {0, 5, 7, 8, 50000, 100000}) {
      const View at{x.f32() + i, DType::kF32, {1, 1}, Device::kCpu};
      activate(one.ctx, f, one.on(at), one.on(part));
      one.back();
      EXPECT_EQ(std::memcmp(part.f32(), whole.f32() + i, 4), 0) << static_cast<int>(f) << " " << i;
    }
  }
}

TEST_P(ActivationTest, SnakeBothWaysRound) {
  Bench bench(2, GetParam());
  constexpr int kTime = 37, kChannels = 21;
  const Tensor x = fixture::random({kTime, kChannels}, 1, 20);
  Tensor alpha = fixture::random({kChannels}, 2), inv_beta = fixture::random({kChannels}, 3);
  for (int c = 0; c < kChannels; ++c) alpha.f32()[c] = std::exp(2 * alpha.f32()[c]);
  Tensor last = fixture::poisoned(x.shape()), turned({kChannels, kTime}, DType::kF32),
         first = fixture::poisoned({kChannels, kTime});
  snake(bench.ctx, bench.on(x), bench.on(alpha), bench.on(inv_beta), ChannelAxis::kLast,
        bench.on(last));
  bench.back();
  for (int t = 0; t < kTime; ++t)
    for (int c = 0; c < kChannels; ++c) turned.f32()[c * kTime + t] = x.f32()[t * kChannels + c];
  snake(bench.ctx, bench.on(turned), bench.on(alpha), bench.on(inv_beta), ChannelAxis::kFirst,
        bench.on(first));
  bench.back();
  for (int t = 0; t < kTime; ++t) {
    for (int c = 0; c < kChannels; ++c) {
      const float in = x.f32()[t * kChannels + c], a = alpha.f32()[c], b = inv_beta.f32()[c];
      const double s = std::sin(double{a * in});
      EXPECT_NEAR(last.f32()[t * kChannels + c], in + s * s * b,
                  1e-6 * (std::fabs(in) + std::fabs(b)));
      EXPECT_EQ(first.f32()[c * kTime + t], last.f32()[t * kChannels + c]);
    }
  }
}

TEST_P(ActivationTest, SumsAndGates) {
  Bench bench(2, GetParam());
  const Tensor x = fixture::random({3, 22}, 1), y = fixture::random({3, 22}, 2),
               gain = fixture::random({22}, 3);
  Tensor out = x.clone();
  add_scaled_inplace(bench.ctx, bench.on(out), bench.on(y), bench.on(gain));
  bench.back();
  add_bias_inplace(bench.ctx, bench.on(out), bench.on(gain));
  bench.back();
  add_inplace(bench.ctx, bench.on(out), bench.on(y));
  bench.back();
  scale_inplace(bench.ctx, bench.on(out), 2);
  bench.back();
  clamp(bench.ctx, bench.on(out), -1, 1.5f, bench.on(out));
  bench.back();
  Tensor gated = fixture::poisoned({3, 11});
  silu_mul(bench.ctx, bench.on(x), bench.on(gated));
  bench.back();
  Tensor geglu = fixture::poisoned({3, 11});
  gelu_tanh_mul(bench.ctx, bench.on(x), bench.on(geglu));
  bench.back();
  Tensor wave = fixture::poisoned({3, 11});
  tanh_sigmoid_mul(bench.ctx, bench.on(x), bench.on(wave));
  bench.back();
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 22; ++j) {
      const float g = gain.f32()[j], a = x.f32()[i * 22 + j], b = y.f32()[i * 22 + j];
      EXPECT_NEAR(out.f32()[i * 22 + j], std::clamp(2 * (a + b * g + g + b), -1.f, 1.5f), 1e-5);
    }
    for (int j = 0; j < 11; ++j) {
      const float g = x.f32()[i * 22 + j], u = x.f32()[i * 22 + 11 + j];
      EXPECT_NEAR(gated.f32()[i * 11 + j], g / (1 + std::exp(-g)) * u, 1e-6);
      const double inner = 0.7978845608 * (g + 0.044715 * g * g * g);
      EXPECT_NEAR(geglu.f32()[i * 11 + j], 0.5 * g * (1 + std::tanh(inner)) * u, 1e-6);
      EXPECT_NEAR(wave.f32()[i * 11 + j], std::tanh(g) / (1 + std::exp(-u)), 1e-6);
    }
  }
}

TEST_P(ActivationTest, LeakyReluScalesWhatIsNegative) {
  Bench bench(1, GetParam());
  const float x[] = {-2, -0.f, 0, 0.5f, 3}, want[] = {-0.2f, 0, 0, 0.5f, 3};
  Tensor in({5}, DType::kF32);
  std::copy_n(x, 5, in.f32());
  leaky_relu(bench.ctx, bench.on(in), 0.1f, bench.on(in));
  bench.back();
  for (int i = 0; i < 5; ++i) EXPECT_FLOAT_EQ(in.f32()[i], want[i]);
}

}  // namespace
}  // namespace syrinx
