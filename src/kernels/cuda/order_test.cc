// Checks the plain arithmetic that the device shares with the host, and the rows that kernels round
// for products.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <set>
#include <vector>

#include "base/float16.h"
#include "kernels/cuda/attention_order.h"
#include "kernels/cuda/matrix_layout.h"
#include "kernels/cuda/philox.h"
#include "kernels/embedding.h"
#include "kernels/fixture.h"
#include "kernels/norm.h"
#include "kernels/packed_matrix.h"
#include "kernels/product_rows.h"
#include "kernels/qkv.h"
#include "kernels/sample.h"

namespace syrinx::cuda {
namespace {

TEST(DeviceOrder, RandomNumbersAreThoseOfTheCpu) {
  for (uint32_t i = 0; i < 1000; ++i) {
    const uint64_t seed = i * 0x9e3779b97f4a7c15u;
    EXPECT_EQ(device_uniform(seed, i, i % 5, i % 2), philox_uniform(seed, i, i % 5, i % 2));
  }
}

TEST(DeviceOrder, OrderOfFloatsIsThatOfTheirValues) {
  const float rising[] = {
      -std::numeric_limits<float>::infinity(), -3e38f, -1, -1e-40f, 0, 1e-40f, 0.5f, 1, 3e38f,
      std::numeric_limits<float>::infinity()};
  uint32_t before = 0;
  for (const float x : rising) {
    uint32_t bits;
    std::memcpy(&bits, &x, 4);
    EXPECT_GT(order_of(bits), before) << x;
    EXPECT_EQ(bits_of_order(order_of(bits)), bits);
    before = order_of(bits);
  }
}

TEST(DeviceOrder, LanesCoverThePositionsOfAPage) {
  std::set<int> seen_positions;
  for (int lane = 0; lane < 32; ++lane) {
    seen_positions.insert(lane_position(lane));
    EXPECT_EQ(lane_position(lane) / 8, lane % 4);  // a lane keeps a position whose sum it computed
  }
  EXPECT_EQ(seen_positions.size(), 32u);
  EXPECT_EQ(*seen_positions.rbegin(), 31);
}

TEST(DeviceOrder, WhatAQuerySees) {
  EXPECT_EQ(seen(10, 50, 0, true).last, 11);
  EXPECT_EQ(seen(10, 50, 0, false).last, 50);
  EXPECT_EQ(seen(10, 50, 4, true).first, 7);
  EXPECT_EQ(seen(2, 50, 4, true).first, 0);
  EXPECT_EQ(group_of(kGroupPositions - 1), 0);
  EXPECT_EQ(group_of(kGroupPositions), 1);
}

// Every chunk of k must belong to exactly one range. If the chunks suffice, every warp of a split
// must have at least one chunk.
TEST(DeviceOrder, RangesCoverK) {
  for (const int64_t rows : {16, 48, 64, 1024, 2048, 3072, 6144, 12288, 151936}) {
    for (const int64_t k : {1, 64, 100, 1024, 2048, 3072, 8192}) {
      const int64_t padded = matrix_padded_k(k), chunks = padded / kChunk;
      EXPECT_TRUE(padded >= k && padded < k + kChunk);
      const int split = skinny_split(rows, padded), ranges = split * kSkinnyWarps;
      EXPECT_TRUE(split == 1 || chunks >= ranges) << rows << " x " << k;
      int64_t next = 0;
      for (int i = 0; i < ranges; ++i) {
        EXPECT_EQ(range_begin(chunks, i, ranges), next);
        next = range_begin(chunks, i + 1, ranges);
        EXPECT_GE(next, range_begin(chunks, i, ranges));
      }
      EXPECT_EQ(next, chunks);
    }
  }
}

TEST(DeviceOrder, RangeEndsAreThoseOfTheRanges) {
  for (int chunks = 1; chunks <= 100; ++chunks) {
    std::set<int> want;
    for (int i = 1; i <= kSkinnyWarps; ++i) want.insert(range_begin(chunks, i, kSkinnyWarps));
    RangeEnds ends(chunks);
    for (int chunk = 0; chunk < chunks; ++chunk)
      EXPECT_EQ(ends.after(chunk), want.contains(chunk + 1)) << chunk << " of " << chunks;
  }
}

// Without this, a GPU would read rows that no block normed, or wait for blocks that do not run. The
// emulation would not notice: its first block waits in vain, and norms all rows.
TEST(DeviceOrder, AFewBlocksNormAllRows) {
  for (const int64_t blocks : {1, 3, 16, 17, 192}) {
    for (int64_t rows = 1; rows <= kMostNormedRows; ++rows) {
      int64_t next = 0;
      for (int64_t block = 0; block < blocks; ++block) {
        const RowRange own = normed_rows(rows, blocks, block);
        EXPECT_EQ(own.begin, next);
        next = own.end;
        EXPECT_TRUE(block < kNormingBlocks || own.begin == own.end);
        EXPECT_TRUE(blocks < kNormingBlocks || own.end - own.begin <= kSkinnyWarps);
      }
      EXPECT_EQ(next, rows) << blocks;
    }
  }
}

std::vector<Device> gpus() {
  std::vector<Device> all = fixture::devices();
  all.erase(all.begin());
  return all;
}

class RoundedRows : public fixture::OnDevice {
 protected:
  static constexpr int64_t kRows = kRoundedInPlace + 5, kWide = 128, kInner = 64;

  /// Computes rows of a norm, a gate and a product. The rows between them are f32, or the type of
  /// product_rows().
  static std::vector<float> run(WeightType type, bool layer, bool rounded) {
    fixture::Bench bench(1, GetParam());
    StepContext& ctx = bench.ctx;
    const Tensor x = fixture::random({kRows, kWide}, 1), weight = fixture::random({kWide}, 2);
    const Tensor gate = fixture::random({kInner, kWide}, 3),
                 up = fixture::random({kInner, kWide}, 4);
    const Tensor last = fixture::random({kWide, kInner}, 5);
    const PackedLinear both = PackedLinear::pack_gated({gate}, {up}, type);
    const PackedLinear& gated = bench.weights(both);
    const PackedLinear& down = bench.weights(PackedLinear::pack(last, type));
    const auto rows_for = [&](const PackedLinear& w) {
      const DType best = product_rows(w, kRows);
      EXPECT_EQ(best, DType::kBF16);
      return ctx.arena.take({kRows, w.in()}, rounded ? best : DType::kF32);
    };
    const View normed = rows_for(gated), inner = rows_for(down);
    if (layer) {
      layer_norm(ctx, bench.on(x), bench.on(weight), {}, 1e-6f, normed);
    } else {
      rms_norm(ctx, bench.on(x), bench.on(weight), 1e-6f, normed);
    }
    Tensor out({kRows, kWide}, DType::kF32);
    linear(ctx, gated, normed, inner);
    linear(ctx, down, inner, bench.on(out));
    bench.back();
    return {out.f32(), out.f32() + out.view().count()};
  }
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RoundedRows);
INSTANTIATE_TEST_SUITE_P(Gpus, RoundedRows, ::testing::ValuesIn(gpus()), fixture::device_label);

TEST_P(RoundedRows, GiveProductsTheSameBits) {
  for (const WeightType type : {WeightType::kBF16, WeightType::kQ8}) {
    for (const bool layer : {false, true})
      EXPECT_EQ(run(type, layer, true), run(type, layer, false)) << weight_type_name(type) << layer;
  }
}

TEST_P(RoundedRows, AColumnOfATableIsRoundedToo) {
  fixture::Bench bench(1, GetParam());
  const Tensor table = fixture::random({7, kWide}, 1), weight = fixture::random({kInner, kWide}, 2);
  Tensor codes({kRows, 2}, DType::kI32);
  for (int64_t i = 0; i < codes.view().count(); ++i) codes.i32()[i] = static_cast<int32_t>(i % 7);
  const PackedLinear& w = bench.weights(PackedLinear::pack(weight, WeightType::kBF16));
  std::vector<std::vector<float>> results;
  for (const DType type : {DType::kF32, product_rows(w, kRows)}) {
    const View x = bench.ctx.arena.take({kRows, kWide}, type);
    Tensor out({kRows, kInner}, DType::kF32);
    embed_column(bench.ctx, bench.on(table), bench.on(codes), 1, x);
    linear(bench.ctx, w, x, bench.on(out));
    bench.back();
    results.emplace_back(out.f32(), out.f32() + out.view().count());
  }
  EXPECT_EQ(results[0], results[1]);
}

/// Tests widths that are summed as short and as long rows, and one too wide for shared memory. Many
/// rows are normed by some blocks for all; each product begins with the state that the last one
/// left.
TEST_P(RoundedRows, AProductThatNormsItsRowsGivesTheSameBits) {
  EXPECT_TRUE(norms_in_each_block(kRoundedInPlace, 4032) && norms_in_each_block(1, 8192));
  EXPECT_FALSE(norms_in_each_block(kRoundedInPlace, 4096));
  EXPECT_FALSE(norms_in_each_block(kRoundedInPlace + 1, kWide));
  EXPECT_TRUE(norms_in_product(kMostNormedRows, 4096) && !norms_in_product(1, 100));
  EXPECT_FALSE(norms_in_product(kMostNormedRows + 1, kWide));
  for (const WeightType type : {WeightType::kF32, WeightType::kBF16, WeightType::kQ8}) {
    for (const int64_t k : {64, 256, 320, 2176, 4096}) {
      const Tensor x = fixture::random({kMostNormedRows, k}, 1), norm = fixture::random({k}, 2);
      const Tensor gate = fixture::random({48, k}, 3), up = fixture::random({48, k}, 4);
      for (const bool gated : {false, true}) {
        fixture::Bench bench(1, GetParam());
        StepContext& ctx = bench.ctx;
        const LinearPart parts[] = {{gate}, {up}};
        const PackedLinear& w =
            bench.weights(gated ? PackedLinear::pack_gated(parts[0], parts[1], type)
                                : PackedLinear::pack(parts, type));
        for (const int64_t rows :
             {int64_t{3}, kRoundedInPlace, kRoundedInPlace + 1, int64_t{30}, kMostNormedRows}) {
          if (rows > 30 && k > 320) continue;  // slow on the emulation
          const View some = bench.on(x).slice(0, rows);
          const View normed = ctx.arena.take({rows, k}, DType::kF32);
          Tensor once = fixture::poisoned({rows, w.out()}), twice = once.clone();
          linear_normed(ctx, w, some, bench.on(norm), 1e-5f, bench.on(once));
          rms_norm(ctx, some, bench.on(norm), 1e-5f, normed);
          linear(ctx, w, normed, bench.on(twice));
          bench.back();
          EXPECT_EQ(0, std::memcmp(once.f32(), twice.f32(), once.view().bytes()))
              << weight_type_name(type) << " " << rows << " x " << k << (gated ? " gated" : "");
        }
      }
    }
  }
}

/// Returns the rows of a product with each kind of destination, one kind after another.
/// `products`: SYRINX_GPU_PRODUCTS.
std::vector<float> rows_of_products(Device device, const char* products, WeightType type,
                                    int64_t rows, int64_t outs, int64_t in) {
  setenv("SYRINX_GPU_PRODUCTS", products, 1);
  fixture::Bench bench(1, device);
  StepContext& ctx = bench.ctx;
  const Tensor x = fixture::random({rows, in}, 1), bias = fixture::random({outs}, 4);
  const Tensor first = fixture::random({outs, in}, 2), second = fixture::random({outs, in}, 3);
  const PackedLinear& gated =
      bench.weights(PackedLinear::pack_gated({first, bias}, {second}, type));
  const LinearPart parts[] = {{first, bias}, {second}};
  const PackedLinear& both = bench.weights(PackedLinear::pack(parts, type));
  fixture::GuardedOutput gate({rows, outs}), whole({rows, 2 * outs});
  Tensor added = fixture::random({rows, 2 * outs}, 5);
  linear(ctx, gated, bench.on(x), bench.on(gate.view()));
  linear(ctx, both, bench.on(x), bench.on(whole.view()));
  linear_add(ctx, both, bench.on(x), bench.on(added));
  bench.back();
  EXPECT_TRUE(gate.clean() && whole.clean());
  unsetenv("SYRINX_GPU_PRODUCTS");
  std::vector<float> all;
  for (const View& view : {gate.view(), whole.view(), added.view()})
    all.insert(all.end(), view.f32(), view.f32() + view.count());
  return all;
}

/// The ranges of k differ in length, some are empty, and the tiles go beyond the rows and outputs.
TEST_P(RoundedRows, ManyRowsHaveTheBitsOfAFew) {
  for (const WeightType type : {WeightType::kBF16, WeightType::kQ8}) {
    for (const auto& [rows, outs, in] : {std::array<int64_t, 3>{65, 37, 100}, {130, 75, 704}}) {
      const auto want = rows_of_products(GetParam(), "narrow", type, rows, outs, in);
      for (const char* products : {"small", "large", ""}) {
        const auto got = rows_of_products(GetParam(), products, type, rows, outs, in);
        EXPECT_EQ(0, std::memcmp(got.data(), want.data(), 4 * want.size()))
            << weight_type_name(type) << " " << rows << " x " << outs << " x " << in << products;
      }
    }
  }
}

/// Each GPU gets the tile that fits into its own shared memory, not into that of another GPU which
/// the thread used before.
TEST_P(RoundedRows, UnlikeGpusHaveTheSameBits) {
  const auto want = rows_of_products(GetParam(), "large", WeightType::kBF16, 130, 75, 704);
  for (int gpu = 0; gpu < std::ssize(gpu_names()); ++gpu) {
    const auto got = rows_of_products(Device::gpu(gpu), "large", WeightType::kBF16, 130, 75, 704);
    EXPECT_EQ(0, std::memcmp(got.data(), want.data(), 4 * want.size())) << gpu;
  }
}

/// Runs three layers for two sequences and returns the rows. `early`: SYRINX_GPU_PDL.
std::vector<float> rows_of_layers(Device device, const char* early) {
  constexpr int kDim = 64, kHidden = 128, kHeads = 2, kRows = 2;
  setenv("SYRINX_GPU_PDL", early, 1);
  fixture::Bench bench(1, device);
  StepContext& ctx = bench.ctx;
  const auto pack = [&](int64_t out, int64_t in, unsigned seed) -> const PackedLinear& {
    return bench.weights(
        PackedLinear::pack(fixture::random({out, in}, seed, 0.1f), WeightType::kBF16));
  };
  const PackedLinear &qkv = pack(4 * kDim, kHidden, 1), &o = pack(kHidden, kHidden, 2);
  const PackedLinear &up = pack(2 * kHidden, kHidden, 3), &down = pack(kHidden, 2 * kHidden, 4);
  const KvPool pool({1, 1, kDim, DType::kF16}, 6, device);
  const std::vector<int32_t> row_begin{0, 1, 2}, kv_len{140, 5},
      table{0, 1, 2, 3, 4, 5, 0, 0, 0, 0};
  // Uploaded now, because an upload between kernels would keep the emulation from overlapping them.
  const Ragged ragged = resident(ctx, {row_begin, kv_len, table, 5});
  const Tensor x = fixture::random({kRows, kHidden}, 5), norm = fixture::random({kHidden}, 6);
  const View rows = bench.on(x), weight = bench.on(norm);
  const View heads = ctx.arena.take({kRows, 4 * kDim}, DType::kF32);
  const View mixed = ctx.arena.take({kRows, kHidden}, DType::kF32);
  const View inner = ctx.arena.take({kRows, 2 * kHidden}, DType::kF32);
  for (int layer = 0; layer < 3; ++layer) {
    linear_normed(ctx, qkv, rows, weight, 1e-5f, heads);
    attend_qkv(ctx, Qkv{heads, kHeads, 1, kDim}, pool, 0, ragged, {0.2f}, mixed);
    linear_add(ctx, o, mixed, rows);
    linear_normed(ctx, up, rows, weight, 1e-5f, inner);
    linear_add(ctx, down, inner, rows);
  }
  bench.back();
  unsetenv("SYRINX_GPU_PDL");
  return {x.f32(), x.f32() + x.view().count()};
}

TEST_P(RoundedRows, KernelsThatBeginEarlyWaitForEarlierOnes) {
  EXPECT_EQ(rows_of_layers(GetParam(), "on"), rows_of_layers(GetParam(), "off"));
}

TEST_P(RoundedRows, OnlyWhereTheProductWouldRoundThem) {
  fixture::Bench bench(1, GetParam());
  const Tensor even = fixture::random({16, kWide}, 1), odd = fixture::random({16, 100}, 2);
  const auto type_of = [&](const Tensor& weight, WeightType type, int64_t rows) {
    return product_rows(bench.weights(PackedLinear::pack(weight, type)), rows);
  };
  EXPECT_EQ(type_of(even, WeightType::kBF16, kRoundedInPlace + 1), DType::kBF16);
  EXPECT_EQ(type_of(even, WeightType::kBF16, kRoundedInPlace), DType::kF32);
  EXPECT_EQ(type_of(even, WeightType::kF32, 100), DType::kF32);
  EXPECT_EQ(type_of(odd, WeightType::kBF16, 100), DType::kF32);
  EXPECT_EQ(product_rows(PackedLinear::pack(even, WeightType::kBF16), 100), DType::kF32);
}

}  // namespace
}  // namespace syrinx::cuda
