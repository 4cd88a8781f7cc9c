#include "kernels/qkv.h"

#include <gtest/gtest.h>

#include <numeric>

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

/// Sequences of 1 to 4 rows, also across the bounds of pages and of groups of pages, beyond the
/// rope table and with a ring of pages; two equal sequences share their pages, as padding does. The
/// sequence with five rows, in the last case, is too long for one launch.
TEST_P(QkvTest, AttendingGivesTheBitsOfTheSteps) {
  constexpr int kDim = 48, kKvHeads = 2, kPages = 12;
  struct Case {
    std::vector<int32_t> rows, kv_len;
    int group, window;
  };
  const Case cases[] = {{{1, 1, 1, 1, 0}, {1, 40, 129, 128, 3}, 1, 0},
                        {{1, 1, 1}, {300, 33, 33}, 2, 0},
                        {{2, 3, 4, 1}, {129, 3, 130, 260}, 3, 0},
                        {{4, 2, 1}, {386, 385, 200}, 4, 70},
                        {{5, 1}, {130, 7}, 2, 0}};
  const RopeTable host_table({32, 10000}, 140);
  const Tensor q_norm = fixture::random({kDim}, 2), k_norm = fixture::random({kDim}, 3);
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kI8}) {
    for (const Case& c : cases) {
      const auto sequences = static_cast<int>(c.rows.size());
      const int heads = c.group * kKvHeads, width = (heads + 2 * kKvHeads) * kDim;
      std::vector<int32_t> row_begin{0}, table;
      for (const int32_t rows : c.rows) row_begin.push_back(row_begin.back() + rows);
      for (int i = 0; i < sequences * kPages; ++i) table.push_back((i * 7 + 3) % (5 * kPages));
      const int n = row_begin.back();
      Tensor x = fixture::random({n, width}, 1);
      const bool twins = c.group == 2 && c.rows.size() == 3;  // sequences 1 and 2
      if (twins) {
        std::copy_n(table.begin() + kPages, kPages, table.begin() + 2 * kPages);
        std::copy_n(x.f32() + width, width, x.f32() + 2 * width);
      }
      const Ragged ragged{row_begin, c.kv_len, table, kPages};
      const AttentionSpec spec{0.2f, c.window};
      Bench bench(2, GetParam());
      const RopeTable& rope_table = bench.weights(host_table);
      const KvSpec kv{2, kKvHeads, kDim, dtype};
      const KvPool filled(kv, 5 * kPages);
      const Tensor past = fixture::random({5 * kPages * KvPool::kPageRows, kKvHeads * kDim}, 4);
      std::vector<int32_t> all_pages(5 * kPages);
      std::iota(all_pages.begin(), all_pages.end(), 0);
      const std::vector<int32_t> all{0, static_cast<int32_t>(past.shape()[0])};
      Bench host;
      write_kv(host.ctx, {past, 0, kKvHeads, kDim}, {past, 0, kKvHeads, kDim}, filled, 1,
               {all, std::span(all).subspan(1), all_pages, 5 * kPages});
      const KvPool steps = filled.copy_to(GetParam()), once = filled.copy_to(GetParam());
      const Tensor y = x.clone();
      Tensor a = fixture::poisoned({n, heads * kDim}), b = a.clone();
      const auto qkv_of = [&](const Tensor& rows) {
        return Qkv{bench.on(rows),   heads, kKvHeads, kDim,       bench.on(q_norm),
                   bench.on(k_norm), 1e-6f, 1e-5f,    &rope_table};
      };
      store_qkv(bench.ctx, qkv_of(x), steps, 1, ragged);
      paged_attention(bench.ctx, qkv_of(x).q(), steps, 1, ragged, spec, bench.on(a));
      attend_qkv(bench.ctx, qkv_of(y), once, 1, ragged, spec, bench.on(b));
      bench.back();
      EXPECT_EQ(0, std::memcmp(a.f32(), b.f32(), a.view().bytes()))
          << dtype_name(dtype) << " " << c.group;
      const KvPool p = steps.copy_to(Device::kCpu), q = once.copy_to(Device::kCpu);
      EXPECT_EQ(0,
                std::memcmp(p.keys(0, 0, 0), q.keys(0, 0, 0), 5 * kPages * KvPool::page_bytes(kv)))
          << dtype_name(dtype) << " " << c.group;
      EXPECT_NE(0, std::memcmp(filled.keys(0, 0, 0), q.keys(0, 0, 0),
                               5 * kPages * KvPool::page_bytes(kv)));
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
