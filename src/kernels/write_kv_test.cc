#include <gtest/gtest.h>

#include <cstring>
#include <utility>

#include "base/cpu_features.h"
#include "kernels/attention.h"
#include "kernels/attention_impl.h"
#include "kernels/fixture.h"

namespace syrinx {
namespace {

/// Writes each row of `rows` alone, with the plain code.
void write_one_by_one(KvRows rows) {
  const int end = rows.slot + std::exchange(rows.count, 1);
  for (; rows.slot < end; ++rows.slot, rows.k += rows.k_stride, rows.v += rows.v_stride)
    ref::write_kv_rows(rows);
}

TEST(WriteKv, RowsWrittenTogetherEqualRowsWrittenOneByOne) {
  if (!cpu_features().simd()) GTEST_SKIP() << "no AVX2 or NEON";
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kI8}) {
    for (const int dim : {8, 24, 64, 256}) {
      const KvSpec spec{1, 1, dim, dtype};
      const Tensor k = fixture::random({32, dim + 3}, 1), v = fixture::random({32, dim + 5}, 2);
      for (int slot = 0; slot < 32; ++slot) {
        for (int count = 1; slot + count <= 32; ++count) {
          const KvPool plain(spec, 1), fast(spec, 1), same(spec, 1);
          for (const KvPool* pool : {&plain, &fast, &same})
            std::memset(pool->keys(0, 0, 0), 0x5a, KvPool::page_bytes(spec));
          KvRows rows{k.f32(), v.f32(), dim + 3, dim + 5, nullptr, dim, slot, count, dtype};
          rows.keys = static_cast<char*>(plain.keys(0, 0, 0));
          write_one_by_one(rows);
          rows.keys = static_cast<char*>(fast.keys(0, 0, 0));
          simd::write_kv_rows(rows);
          rows.keys = static_cast<char*>(same.keys(0, 0, 0));
          ref::write_kv_rows(rows);
          for (const KvPool* pool : {&fast, &same})
            ASSERT_EQ(
                std::memcmp(pool->keys(0, 0, 0), plain.keys(0, 0, 0), KvPool::page_bytes(spec)), 0)
                << dtype_name(dtype) << " dim " << dim << " rows " << slot << " + " << count;
        }
      }
    }
  }
}

}  // namespace
}  // namespace syrinx
