#include "kernels/lstm.h"

#include <gtest/gtest.h>

#include "kernels/fixture.h"

namespace syrinx {
namespace {

class LstmTest : public fixture::OnDevice {
 protected:
  /// Numbers of one stream; `width` numbers of the hidden state, rows `stride` apart.
  struct Streamed {
    Streamed(int64_t width, int64_t count, unsigned seed, int64_t apart = 1)
        : steps(count),
          stride(apart),
          gates(fixture::random({std::max<int64_t>(count, 1) * apart, 4 * width}, seed)),
          hidden(fixture::random({width}, seed + 1)),
          cell(fixture::random({width}, seed + 2)),
          out(fixture::poisoned({std::max<int64_t>(count, 1) * apart, width})) {}
    LstmSteps on(fixture::Bench& bench) const {
      return {bench.on(gates).f32(),
              bench.on(hidden).f32(),
              bench.on(cell).f32(),
              bench.on(out).f32(),
              steps,
              stride};
    }
    int64_t steps, stride;
    Tensor gates, hidden, cell, out;
  };
  static PackedLinear recurrent(int64_t width) {
    return PackedLinear::pack(
        fixture::random({4 * width, width}, 7, 1 / std::sqrt(static_cast<float>(width))),
        WeightType::kF32, fixture::random({4 * width}, 8));
  }
  static void run(const PackedLinear& weights, std::span<Streamed* const> streams) {
    fixture::Bench bench(1, GetParam());
    std::vector<LstmSteps> all;
    for (const Streamed* s : streams) all.push_back(s->on(bench));
    lstm(bench.ctx, bench.weights(weights), all);
    bench.back();
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, LstmTest, ::testing::ValuesIn(fixture::devices()),
                         fixture::device_label);

TEST_P(LstmTest, IsTheFormula) {
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  for (const int64_t width : {5, 160}) {
    const Tensor weight = fixture::random({4 * width, width}, 7, 0.2f);
    const Tensor bias = fixture::random({4 * width}, 8);
    Streamed s(width, 6, 20, 2);
    std::vector<double> h(s.hidden.f32(), s.hidden.f32() + width);
    std::vector<double> c(s.cell.f32(), s.cell.f32() + width);
    Streamed* const all[] = {&s};
    run(PackedLinear::pack(weight, WeightType::kF32, bias), all);
    for (int64_t t = 0; t < s.steps; ++t) {
      std::vector<double> g(static_cast<size_t>(4 * width));
      for (int64_t i = 0; i < 4 * width; ++i) {
        g[i] = double{s.gates.f32()[t * s.stride * 4 * width + i]} + bias.f32()[i];
        for (int64_t k = 0; k < width; ++k) g[i] += double{weight.f32()[i * width + k]} * h[k];
      }
      for (int64_t i = 0; i < width; ++i) {
        c[i] = sigmoid(g[width + i]) * c[i] + sigmoid(g[i]) * std::tanh(g[2 * width + i]);
        h[i] = sigmoid(g[3 * width + i]) * std::tanh(c[i]);
        ASSERT_NEAR(s.out.f32()[t * s.stride * width + i], h[i], 1e-5) << t << ", unit " << i;
        EXPECT_TRUE(std::isnan(s.out.f32()[(t * s.stride + 1) * width + i]));
      }
    }
    for (int64_t i = 0; i < width; ++i) {
      EXPECT_EQ(s.hidden.f32()[i], s.out.f32()[(s.steps - 1) * s.stride * width + i]);
      EXPECT_NEAR(s.cell.f32()[i], c[i], 1e-5);
    }
  }
}

TEST_P(LstmTest, TheSameBitsAloneInCompanyAndInPieces) {
  constexpr int64_t kWidth = 70;
  const PackedLinear weights = recurrent(kWidth);
  const int64_t lengths[] = {3, 1, 0, 7, 2, 5, 1, 4, 6, 2, 3};  // more than one block's streams
  std::vector<Streamed> together, alone;
  for (const int64_t steps : lengths) {
    const auto seed = static_cast<unsigned>(30 + 3 * together.size());
    together.emplace_back(kWidth, steps, seed);
    alone.emplace_back(kWidth, steps, seed);
  }
  std::vector<Streamed*> all;
  for (Streamed& s : together) all.push_back(&s);
  run(weights, all);
  for (size_t i = 0; i < all.size(); ++i) {
    Streamed* const one[] = {&alone[i]};
    run(weights, one);
    EXPECT_TRUE(fixture::same_bits(alone[i].cell, together[i].cell)) << i;
    EXPECT_TRUE(fixture::same_bits(alone[i].hidden, together[i].hidden)) << i;
    const int64_t steps = lengths[i];
    EXPECT_TRUE(fixture::same_bits(alone[i].out.view().slice(0, steps),
                                   together[i].out.view().slice(0, steps)))
        << i;
  }
  // The fourth stream again, a step per call.
  Streamed pieces(kWidth, lengths[3], 30 + 3 * 3);
  for (int64_t t = 0; t < lengths[3]; ++t) {
    Streamed step(kWidth, 1, 0);
    std::copy_n(pieces.gates.f32() + t * 4 * kWidth, 4 * kWidth, step.gates.f32());
    std::copy_n(pieces.hidden.f32(), kWidth, step.hidden.f32());
    std::copy_n(pieces.cell.f32(), kWidth, step.cell.f32());
    Streamed* const one[] = {&step};
    run(weights, one);
    std::copy_n(step.hidden.f32(), kWidth, pieces.hidden.f32());
    std::copy_n(step.cell.f32(), kWidth, pieces.cell.f32());
    EXPECT_TRUE(fixture::same_bits(step.out, alone[3].out.view().slice(t, t + 1))) << t;
  }
  EXPECT_TRUE(fixture::same_bits(pieces.cell, alone[3].cell));
}

TEST_P(LstmTest, RefusesOtherWeights) {
  fixture::Bench bench(1, GetParam());
  const PackedLinear wide =
      PackedLinear::pack(fixture::random({8, 3}, 1), WeightType::kF32, fixture::random({8}, 2));
  EXPECT_THROW(lstm(bench.ctx, bench.weights(wide), {}), InternalError);
}

}  // namespace
}  // namespace syrinx
