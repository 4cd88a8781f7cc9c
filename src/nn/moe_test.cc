#include "nn/moe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "io/safetensors.h"
#include "io/test_dir.h"
#include "kernels/fixture.h"

namespace syrinx {
namespace {

using fixture::Bench;

constexpr int64_t kHidden = 48;

Weights dummy_experts() { return Weights(dummy_weights()); }

/// Computes the layer from the formulas in double.
Tensor mixed_by_hand(const MoeConfig& c, const Weights& weights, const Tensor& x) {
  using Row = std::vector<double>;
  const auto times = [&](const Weights& scope, const std::string& name, int64_t out,
                         const Row& row) {
    const int64_t in = std::ssize(row);
    const Tensor m = scope.scope(name).f32("weight", {out, in});
    Row y(out);
    for (int64_t o = 0; o < out; ++o)
      for (int64_t i = 0; i < in; ++i) y[o] += double{m.f32()[o * in + i]} * row[i];
    return y;
  };
  const auto expert = [&](const Weights& scope, int64_t ffn, const Row& row) {
    Row gate = times(scope, "gate_proj", ffn, row);
    const Row up = times(scope, "up_proj", ffn, row);
    for (int64_t i = 0; i < ffn; ++i) gate[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
    return times(scope, "down_proj", kHidden, gate);
  };
  Tensor out(x.shape(), DType::kF32);
  for (int64_t t = 0; t < x.shape()[0]; ++t) {
    const Row row(x.f32() + t * kHidden, x.f32() + (t + 1) * kHidden);
    Row probability = times(weights, "gate", c.experts, row), sum(kHidden);
    double total = 0, held = 0;
    for (double& p : probability) p = std::exp(p), total += p;
    std::vector<int> order(c.experts);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return probability[a] > probability[b]; });
    order.resize(c.top_k);
    for (const int e : order) held += probability[e];
    for (const int e : order) {
      const Row y = expert(weights.scope("experts", e), c.ffn, row);
      const double weight = probability[e] / (c.normalised ? held : total);
      for (int64_t i = 0; i < kHidden; ++i) sum[i] += weight * y[i];
    }
    if (c.shared_ffn > 0) {
      const Row y = expert(weights.scope("shared_expert"), c.shared_ffn, row);
      const double gate = 1 / (1 + std::exp(-times(weights, "shared_expert_gate", 1, row)[0]));
      for (int64_t i = 0; i < kHidden; ++i) sum[i] += gate * y[i];
    }
    for (int64_t i = 0; i < kHidden; ++i) out.f32()[t * kHidden + i] = static_cast<float>(sum[i]);
  }
  return out;
}

MoeConfig thinker() { return {.experts = 9, .top_k = 4, .ffn = 40}; }
MoeConfig talker() {
  return {.experts = 6, .top_k = 2, .ffn = 24, .normalised = false, .shared_ffn = 72};
}

/// More experts than a warp has lanes, and an inner width that needs no padding on a GPU.
MoeConfig many() { return {.experts = 40, .top_k = 3, .ffn = 64, .normalised = false}; }

using MoeOn = fixture::OnDevice;

/// Returns the layer's outputs for x, on the device of `bench`.
Tensor mixed_on(Bench& bench, const Moe& moe, const View& x) {
  Tensor out(x.shape, DType::kF32);
  moe.add(bench.ctx, bench.on(x), bench.on(out));
  bench.back();
  return out;
}

TEST_P(MoeOn, AgreesWithTheFormulas) {
  for (const MoeConfig& c : {thinker(), talker(), many()}) {
    const Weights weights = dummy_experts();
    const Tensor x = fixture::random({37, kHidden}, 1);
    const Tensor want = mixed_by_hand(c, weights, x);
    for (const auto& [type, tolerance] :
         {std::pair(WeightType::kF32, 1e-6), {WeightType::kBF16, 1e-2}, {WeightType::kQ8, 3e-2}}) {
      Moe moe(c, kHidden, weights, type);
      EXPECT_EQ(weights.report().faults(), "");
      if (GetParam() != Device::kCpu) moe.move_to(GetParam());
      Bench bench(2, GetParam());
      const Tensor got = mixed_on(bench, moe, x);
      EXPECT_LT(fixture::relative_rms(got, want), tolerance) << weight_type_name(type);
    }
  }
}

TEST_P(MoeOn, ARowHasTheSameBitsInAnyBatch) {
  for (const MoeConfig& c : {talker(), many()}) {
    for (const WeightType type : {WeightType::kF32, WeightType::kBF16, WeightType::kQ8}) {
      Moe moe(c, kHidden, dummy_experts(), type);
      if (GetParam() != Device::kCpu) moe.move_to(GetParam());
      Bench bench(1, GetParam());
      const Tensor x = fixture::random({61, kHidden}, 1);
      const Tensor whole = mixed_on(bench, moe, x);
      for (const int64_t rows : {1, 3, 20}) {
        const Tensor part = mixed_on(bench, moe, x.view().slice(40, 40 + rows));
        EXPECT_TRUE(fixture::same_bits(part, whole.view().slice(40, 40 + rows)))
            << weight_type_name(type) << ": " << rows << " rows";
      }
    }
  }
}

/// A row whose logits are partly infinite or NaN has NaN as output, and changes no other row.
TEST_P(MoeOn, AnInfiniteRowHarmsNoOther) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr int64_t kRow = 4;
  for (const MoeConfig& c : {thinker(), talker(), many()}) {
    Moe moe(c, kHidden, dummy_experts(), WeightType::kBF16);
    if (GetParam() != Device::kCpu) moe.move_to(GetParam());
    Bench bench(1, GetParam());
    const Tensor x = fixture::random({5, kHidden}, 1);
    const Tensor whole = mixed_on(bench, moe, x);
    for (int first = 0; first < 8; ++first) {
      const Tensor bad = x.clone();
      for (const int64_t at : {first, first + 1}) bad.f32()[kRow * kHidden + at] = kInfinity;
      if (GetParam() != Device::kCpu) {  // numbers of earlier work, which are not places of rows
        const Arena::Mark mark(bench.ctx.arena);
        const Tensor old = fixture::random({1 << 18}, 2);
        device_copy(old, bench.ctx.arena.take({1 << 18}, DType::kF32));
      }
      const Tensor got = mixed_on(bench, moe, bad);
      for (int64_t row = 0; row < 5; ++row) {
        const View out = got.view().slice(row, row + 1);
        if (row == kRow) {
          EXPECT_TRUE(std::isnan(out.f32()[0]));
        } else {
          EXPECT_TRUE(fixture::same_bits(out, whole.view().slice(row, row + 1))) << row;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, MoeOn, testing::ValuesIn(fixture::devices()),
                         fixture::device_label);

TEST(Moe, RefusesAGpuForTooManyExperts) {
  for (const MoeConfig& c : {MoeConfig{.experts = ExpertTable::kMost + 1, .top_k = 2, .ffn = 8},
                             {.experts = 40, .top_k = ExpertTable::kMostChosen + 1, .ffn = 8}}) {
    Moe moe(c, kHidden, dummy_experts(), WeightType::kF32);
    EXPECT_THROW(moe.move_to(Device::kCuda), LoadError);
  }
}

TEST(Moe, AddsToWhatIsThere) {
  const Moe moe(talker(), kHidden, dummy_experts(), WeightType::kF32);
  Bench bench;
  const Tensor x = fixture::random({3, kHidden}, 1), start = fixture::random({3, kHidden}, 2);
  Tensor alone({3, kHidden}, DType::kF32), got = start.clone();
  moe.add(bench.ctx, x, alone);
  moe.add(bench.ctx, x, got);
  for (int64_t i = 0; i < got.view().count(); ++i)
    EXPECT_NEAR(got.f32()[i], start.f32()[i] + alone.f32()[i], 1e-5);
}

TEST(Moe, ARowHasTheSameBitsOnAnyThreads) {
  for (const MoeConfig& c : {thinker(), talker()}) {
    for (const WeightType type : {WeightType::kF32, WeightType::kBF16, WeightType::kQ8}) {
      const Moe moe(c, kHidden, dummy_experts(), type);
      const Tensor x = fixture::random({61, kHidden}, 1);
      Bench one(1), three(3);
      Tensor whole({61, kHidden}, DType::kF32);
      moe.add(one.ctx, x, whole);
      for (const int64_t rows : {1, 2, 7, 60, 61}) {
        for (Bench* bench : {&one, &three}) {
          for (int64_t begin = 0; begin < 61; begin += rows) {
            const int64_t end = std::min<int64_t>(begin + rows, 61);
            Tensor part({end - begin, kHidden}, DType::kF32);
            moe.add(bench->ctx, x.view().slice(begin, end), part);
            ASSERT_TRUE(fixture::same_bits(part, whole.view().slice(begin, end)))
                << weight_type_name(type) << ": " << rows << " rows from " << begin;
          }
        }
      }
    }
  }
}

// All experts have equal logits, so the experts with the lowest indices must be selected.
class Undecided : public WeightSource {
 public:
  std::string where(const std::string&) const override { return "file"; }
  bool has(const std::string& name) const override { return all_->has(name); }
  std::string describe(const std::string& name) const override { return all_->describe(name); }
  std::optional<Shape> shape(const std::string& name) const override { return all_->shape(name); }
  View take(const std::string& name, const Shape& shape) override {
    if (name != "gate.weight") return all_->take(name, shape);
    if (zeros_.empty()) zeros_ = Tensor(shape, DType::kF32);
    return zeros_;
  }
  std::vector<std::string> names() const override { return {}; }

 private:
  std::unique_ptr<WeightSource> all_ = dummy_weights();
  Tensor zeros_;
};

TEST(Moe, EqualProbabilitiesAskTheFirstExperts) {
  const Weights weights(std::make_unique<Undecided>());
  const MoeConfig c = thinker();
  const Moe moe(c, kHidden, weights, WeightType::kF32);
  const Tensor x = fixture::random({5, kHidden}, 1);
  Bench bench;
  Tensor got({5, kHidden}, DType::kF32);
  moe.add(bench.ctx, x, got);
  EXPECT_LT(fixture::relative_rms(got, mixed_by_hand(c, weights, x)), 1e-6);
}

// With an input of zeros, all rows use the same experts, which needs more scratch memory than an
// even assignment. Arenas grow in large steps, so the test uses many sizes.
TEST(Moe, LopsidedRoutesNeedNoMoreScratch) {
  const Moe moe(thinker(), kHidden, dummy_experts(), WeightType::kQ8);
  const Tensor spread = fixture::random({2000, kHidden}, 1), zeros({2000, kHidden}, DType::kF32);
  Tensor out({2000, kHidden}, DType::kF32);
  for (int64_t rows = 1200; rows <= 2000; rows += 100) {
    Bench bench;
    const auto scratch_after = [&](const Tensor& x) {
      moe.add(bench.ctx, x.view().slice(0, rows), out.view().slice(0, rows));
      bench.arena.reset();
      return bench.arena.capacity();
    };
    const size_t warm = scratch_after(spread);
    EXPECT_EQ(scratch_after(zeros), warm) << rows;
  }
}

TEST(Moe, NoRowsAreNoWork) {
  const Moe moe(thinker(), kHidden, dummy_experts(), WeightType::kF32);
  Bench bench;
  Tensor none({0, kHidden}, DType::kF32);
  moe.add(bench.ctx, none, none);
  EXPECT_THROW(
      Moe({.experts = 2, .top_k = 3, .ffn = 8}, kHidden, dummy_experts(), WeightType::kF32),
      InternalError);
}

/// If experts have equal logits, the first experts are selected, for any order of the sums.
TEST_P(MoeOn, OfEqualExpertsTheFirst) {
  const TestDir dir;
  constexpr int64_t kFfn = 8;
  {
    SafetensorsWriter writer(dir.path("model.safetensors"));
    writer.add("gate.weight", Tensor({4, kHidden}, DType::kF32));  // all logits are 0
    for (int e = 0; e < 4; ++e) {
      const std::string scope = "experts." + std::to_string(e) + ".";
      writer.add(scope + "gate_proj.weight", fixture::random({kFfn, kHidden}, 1));
      writer.add(scope + "up_proj.weight", fixture::random({kFfn, kHidden}, 2));
      writer.add(scope + "down_proj.weight", fixture::random({kHidden, kFfn}, 10 + e));
    }
    writer.finish();
  }
  const Weights weights(open_weights(dir.path()));
  const MoeConfig config{.experts = 4, .top_k = 2, .ffn = static_cast<int>(kFfn)};
  const Tensor x = fixture::random({3, kHidden}, 7);
  const Tensor want = mixed_by_hand(config, weights, x);
  Moe moe(config, kHidden, weights, WeightType::kF32);
  if (GetParam() != Device::kCpu) moe.move_to(GetParam());
  Bench bench(1, GetParam());
  const Tensor got = mixed_on(bench, moe, x);
  for (int64_t i = 0; i < got.view().count(); ++i) EXPECT_NEAR(got.f32()[i], want.f32()[i], 1e-4);
}

}  // namespace
}  // namespace syrinx
