#include "kernels/attention_weights.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/float16.h"
#include "kernels/fixture.h"

namespace syrinx {
namespace {

/// Compares two heads and 75 positions with the formula. The pages are in arbitrary order.
TEST(AttentionWeights, AreThoseOfTheFormula) {
  constexpr int64_t kDim = 16, kPositions = 75, kRows = 3;
  const float scale = 0.4f;
  ThreadPool threads(2);
  Arena arena;
  StepContext ctx(threads, arena);
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kI8}) {
    const KvPool pool({2, 2, kDim, dtype}, 6);
    const std::vector<int32_t> pages{4, 1, 3};
    const Tensor k = fixture::random({kPositions, 2 * kDim}, 5);
    const Tensor v = fixture::random({kPositions, 2 * kDim}, 6);
    const std::vector<int32_t> row_begin{0, kPositions}, kv_len{kPositions};
    Ragged ragged{row_begin, kv_len, pages, 3};
    for (const int layer : {0, 1})
      write_kv(ctx, all_heads(k, 2), all_heads(v, 2), pool, layer, ragged);
    const Tensor q = fixture::random({kRows, kDim}, 7);
    const auto stored = [&](const float* key, int64_t d) {
      if (dtype == DType::kF32) return key[d];
      if (dtype == DType::kF16) return f16_to_f32(f32_to_f16(key[d]));
      float top = 0;
      for (int64_t i = 0; i < kDim; ++i) top = std::max(top, std::fabs(key[i]));
      return std::nearbyint(key[d] * (127 / top)) * (top / 127);
    };
    for (const int64_t seen : {kPositions, int64_t{64}, int64_t{1}}) {
      const Tensor out({kRows, seen}, DType::kF32);
      attention_weights(ctx, q, pool, 1, 1, pages, scale, out);
      for (int64_t i = 0; i < kRows; ++i) {
        std::vector<double> want;
        double sum = 0;
        for (int64_t p = 0; p < seen; ++p) {
          double dot = 0;
          for (int64_t d = 0; d < kDim; ++d)
            dot += double{q.f32()[i * kDim + d]} * stored(k.f32() + p * 2 * kDim + kDim, d);
          want.push_back(std::exp(dot * scale));
          sum += want.back();
        }
        for (int64_t p = 0; p < seen; ++p)
          EXPECT_NEAR(out.f32()[i * seen + p], want[p] / sum, 1e-6) << i << ", " << p;
      }
    }
    EXPECT_THROW(attention_weights(ctx, q, pool, 0, 0, std::span(pages).first(1), scale,
                                   Tensor({kRows, 33}, DType::kF32)),
                 InternalError);
  }
}

}  // namespace
}  // namespace syrinx
