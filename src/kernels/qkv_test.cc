#include "kernels/qkv.h"

#include <gtest/gtest.h>

#include "kernels/fixture.h"
#include "kernels/norm.h"

namespace syrinx {
namespace {

using fixture::Bench;

class QkvTest : public fixture::OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, QkvTest, ::testing::ValuesIn(fixture::devices()),
                         fixture::device_label);

/// Three sequences: a part of a prompt, a decode row, and one with positions beyond the rope table.
TEST_P(QkvTest, IsTheStepsOneByOne) {
  constexpr int kHeads = 6, kKvHeads = 2, kDim = 48, kRows = 9, kWidth = 10 * kDim;
  const std::vector<int32_t> row_begin{0, 6, 7, 9}, kv_len{36, 5, 67};
  const std::vector<int32_t> table{3, 1, 0, 5, 0, 0, 2, 4, 6};
  const Ragged ragged{row_begin, kv_len, table, 3};
  std::vector<int32_t> positions(kRows);
  ragged_positions(ragged, positions);
  const Tensor q_norm = fixture::random({kDim}, 2), k_norm = fixture::random({kDim}, 3);
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kI8}) {
    for (const bool plain : {false, true}) {
      const RopeLayout layout = plain ? RopeLayout::kInterleaved : RopeLayout::kHalfSplit;
      const RopeTable host_table({plain ? kDim : 32, 10000, layout}, 50);
      Bench bench(2, GetParam());
      const RopeTable& rope_table = bench.weights(host_table);
      const KvPool each({2, kKvHeads, kDim, dtype}, 7, GetParam());
      const KvPool once({2, kKvHeads, kDim, dtype}, 7, GetParam());
      const Tensor x = fixture::random({kRows, kWidth}, 1), y = x.clone();
      Qkv qkv{bench.on(x), kHeads, kKvHeads, kDim};
      if (!plain) {
        qkv.q_norm = bench.on(q_norm), qkv.k_norm = bench.on(k_norm);
        qkv.q_eps = 1e-6f, qkv.k_eps = 1e-5f;
        rms_norm_heads(bench.ctx, qkv.q(), qkv.q_norm, qkv.q_eps);
        rms_norm_heads(bench.ctx, qkv.k(), qkv.k_norm, qkv.k_eps);
      }
      rope(bench.ctx, qkv.q(), positions, rope_table);
      rope(bench.ctx, qkv.k(), positions, rope_table);
      write_kv(bench.ctx, qkv.k(), qkv.v(), each, 1, ragged);
      qkv.rows = bench.on(y);
      qkv.rope = &rope_table;
      store_qkv(bench.ctx, qkv, once, 1, ragged);
      bench.back();
      for (int i = 0; i < kRows; ++i) {
        EXPECT_EQ(0, std::memcmp(x.f32() + i * kWidth, y.f32() + i * kWidth,
                                 kHeads * kDim * sizeof(float)))
            << i;
      }
      const KvPool a = each.copy_to(Device::kCpu), b = once.copy_to(Device::kCpu);
      EXPECT_EQ(0, std::memcmp(a.keys(0, 0, 0), b.keys(0, 0, 0), 7 * KvPool::page_bytes(a.spec())))
          << dtype_name(dtype);
      const std::vector<char> zeros(7 * KvPool::page_bytes(a.spec()));
      EXPECT_NE(0, std::memcmp(a.keys(0, 0, 0), zeros.data(), zeros.size()));
    }
  }
}

TEST_P(QkvTest, PagesThatDoNotExistAreRefused) {
  Bench bench(1, GetParam());
  const std::vector<int32_t> row_begin{0, 1}, kv_len{33}, table{0, 9};
  const KvPool pool({1, 1, 16, DType::kF32}, 4, GetParam());
  const Tensor x = fixture::random({1, 48}, 1);
  EXPECT_THROW(
      store_qkv(bench.ctx, {bench.on(x), 1, 1, 16}, pool, 0, {row_begin, kv_len, table, 2}),
      InternalError);
  bench.back();
}

}  // namespace
}  // namespace syrinx
