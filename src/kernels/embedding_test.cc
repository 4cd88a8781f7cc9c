#include "kernels/embedding.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/float16.h"
#include "kernels/fixture.h"

namespace syrinx {
namespace {

using fixture::Bench;

class EmbeddingTest : public fixture::OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, EmbeddingTest, ::testing::ValuesIn(fixture::devices()),
                         fixture::device_label);

Tensor halved(const Tensor& x, DType dtype) {
  Tensor out(x.shape(), dtype);
  auto* to = static_cast<uint16_t*>(out.view().data);
  for (int64_t i = 0; i < x.shape().count(); ++i)
    to[i] = dtype == DType::kF16 ? f32_to_f16(x.f32()[i]) : f32_to_bf16(x.f32()[i]);
  return out;
}

TEST(Half, ConversionsRoundToNearestEven) {
  EXPECT_EQ(f32_to_f16(1.f), 0x3c00);
  EXPECT_EQ(f32_to_f16(1.f + 0x1p-11f), 0x3c00);      // a tie rounds to even
  EXPECT_EQ(f32_to_f16(1.f + 3 * 0x1p-11f), 0x3c02);  // a tie rounds to even
  EXPECT_EQ(f32_to_f16(65504.f), 0x7bff);
  EXPECT_EQ(f32_to_f16(65520.f), 0x7c00);
  EXPECT_EQ(f32_to_f16(0x1p-24f), 1);
  EXPECT_EQ(f32_to_f16(-0x1p-26f), 0x8000);
  EXPECT_EQ(f32_to_bf16(1.f + 0x1p-8f), 0x3f80);
  EXPECT_EQ(f32_to_bf16(1.f + 3 * 0x1p-8f), 0x3f82);
  EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(NAN))));
  EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(NAN))));
  for (uint32_t h = 0; h < 0x10000; ++h) {  // every number must survive a conversion and back
    const uint16_t bits = static_cast<uint16_t>(h);
    if ((h & 0x7c00) != 0x7c00 || (h & 0x3ff) == 0) {
      EXPECT_EQ(f32_to_f16(f16_to_f32(bits)), bits);
    }
  }
}

TEST_P(EmbeddingTest, GathersAddsAndConverts) {
  Bench bench(2, GetParam());
  for (const int64_t width : {1, 8, 19, 384}) {
    const Tensor table = fixture::random({7, width}, 1);
    const std::vector<int32_t> ids{6, 0, 3, 3};
    for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
      const Tensor stored = dtype == DType::kF32 ? table.clone() : halved(table, dtype);
      Tensor wide({7, width}, DType::kF32), out = fixture::poisoned({4, width});
      to_f32(bench.ctx, bench.on(stored), bench.on(wide));
      bench.back();
      EXPECT_LT(fixture::difference(wide, table), dtype == DType::kBF16 ? 4e-3 : 5e-4);
      embed(bench.ctx, bench.on(stored), ids, bench.on(out));
      bench.back();
      for (int i = 0; i < 4; ++i)
        EXPECT_EQ(std::memcmp(out.f32() + i * width, wide.f32() + ids[i] * width, width * 4), 0);
      embed(bench.ctx, bench.on(stored), ids, bench.on(out), true);
      bench.back();
      EXPECT_EQ(out.f32()[width - 1], 2 * wide.f32()[7 * width - 1]);
    }
  }
}

TEST_P(EmbeddingTest, SumsCodebooksAndSkipsNegativeIds) {
  Bench bench(1, GetParam());
  const Tensor a = fixture::random({5, 20}, 1), b = fixture::random({9, 20}, 2);
  const std::vector<View> tables{bench.on(a), bench.on(b)};
  const std::vector<int32_t> ids{4, 8, -1, 2, -1, -1};
  Tensor out = fixture::poisoned({3, 20});
  embed_sum(bench.ctx, tables, ids, bench.on(out));
  bench.back();
  for (int j = 0; j < 20; ++j) {
    EXPECT_EQ(out.f32()[j], a.f32()[80 + j] + b.f32()[160 + j]);
    EXPECT_EQ(out.f32()[20 + j], b.f32()[40 + j]);
    EXPECT_EQ(out.f32()[40 + j], 0);
  }
  Tensor codes({3, 2}, DType::kI32), again = fixture::poisoned({3, 20});
  std::ranges::copy(ids, codes.i32());
  embed_sum(bench.ctx, std::vector<View>{bench.on(a), bench.on(b)}, bench.on(codes),
            bench.on(again));
  bench.back();
  EXPECT_TRUE(fixture::same_bits(again, out));
}

TEST(Embedding, AnIdOutsideItsTableIsABug) {
  Bench bench;
  const Tensor table = fixture::random({7, 8}, 1);
  Tensor out({1, 8}, DType::kF32);
  for (const int32_t id : {-1, 7}) {
    const std::vector<int32_t> ids{id};
    EXPECT_THROW(embed(bench.ctx, bench.on(table), ids, bench.on(out)), InternalError);
  }
}

}  // namespace
}  // namespace syrinx
