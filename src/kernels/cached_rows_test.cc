// Tests copies of rows between pages of a cache.
#include <gtest/gtest.h>

#include <cstring>

#include "kernels/attention.h"
#include "kernels/fixture.h"

namespace syrinx {
namespace {

constexpr int kHeads = 3, kHeadSize = 8, kPages = 6;

class CachedRows : public fixture::OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, CachedRows, testing::ValuesIn(fixture::devices()),
                         fixture::device_label);

TEST_P(CachedRows, ACopyChangesOneRowOfItsPages) {
  for (const DType dtype : {DType::kF32, DType::kF16}) {
    const KvSpec spec{1, kHeads, kHeadSize, dtype};
    const auto bytes = static_cast<int64_t>(KvPool::page_bytes(spec)) * kPages;
    Tensor memory({bytes}, DType::kU8);
    auto* numbers = static_cast<uint8_t*>(memory.view().data);
    for (int64_t i = 0; i < bytes; ++i) numbers[i] = static_cast<uint8_t>(i * 37 % 251);
    const Tensor before = memory.clone();
    const CachedRowCopy copies[] = {{0, 2, 5, 31}, {4, 2, 0, 7}};  // two pages each
    fixture::Bench bench(2, GetParam());
    copy_cached_rows(bench.ctx, copies, 2, KvPool(spec, kPages, bench.on(memory)));
    bench.back();

    const size_t size = dtype_size(dtype);
    // Returns the place of a number: those of row `row` are apart in keys, and together in values.
    const auto place = [&](int64_t page, int64_t head, bool value, int64_t row, int64_t d) {
      const int64_t part =
          ((page * kHeads + head) * 2 + (value ? 1 : 0)) * KvPool::kPageRows * kHeadSize;
      return static_cast<size_t>(part +
                                 (value ? row * kHeadSize + d : d * KvPool::kPageRows + row)) *
             size;
    };
    Tensor want = before.clone();
    for (const CachedRowCopy& copy : copies) {
      for (int64_t page = 0; page < 2; ++page) {
        for (int64_t head = 0; head < kHeads; ++head) {
          for (const bool value : {false, true}) {
            for (int64_t d = 0; d < kHeadSize; ++d) {
              std::memcpy(static_cast<char*>(want.view().data) +
                              place(copy.to + page, head, value, copy.to_row, d),
                          static_cast<const char*>(before.view().data) +
                              place(copy.from + page, head, value, copy.from_row, d),
                          size);
            }
          }
        }
      }
    }
    EXPECT_TRUE(fixture::same_bits(memory, want)) << dtype_name(dtype);
  }
}

TEST(CachedRowCopies, OfMissingPagesAreRefused) {
  fixture::Bench bench;
  const KvPool pool({1, kHeads, kHeadSize, DType::kF16}, kPages);
  const auto copy = [&](CachedRowCopy what) { copy_cached_rows(bench.ctx, {&what, 1}, 2, pool); };
  copy({0, 4, 0, 31});
  EXPECT_THROW(copy({0, 5, 0, 0}), InternalError);   // its second page does not exist
  EXPECT_THROW(copy({-1, 0, 0, 0}), InternalError);  // the page is not assigned
  EXPECT_THROW(copy({0, 2, 0, 32}), InternalError);  // the row does not exist
  const KvPool small({1, kHeads, kHeadSize, DType::kI8}, kPages);
  EXPECT_THROW(copy_cached_rows(bench.ctx, {}, 2, small), InternalError);
}

}  // namespace
}  // namespace syrinx
