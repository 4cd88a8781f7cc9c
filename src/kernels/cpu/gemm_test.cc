// The code of each instruction set that this machine can run, against plain sums; linear_test and
// conv_test see only the one that is chosen.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "base/cpu_features.h"
#include "kernels/cpu/gemm_block.h"
#include "kernels/fixture.h"
#include "kernels/packed_matrix.h"

namespace syrinx::cpu {
namespace {

using fixture::random;

struct Set {
  const char* name;
  const GemmKernels* kernels;
};

std::vector<Set> runnable() {
  std::vector<Set> sets = {{"portable", &gemm_kernels_portable()}};
#if defined(__x86_64__)
  if (cpu_features().avx2) sets.push_back({"avx2", &gemm_kernels_avx2()});
  if (cpu_features().avx512) sets.push_back({"avx512", &gemm_kernels_avx512()});
#endif
  return sets;
}

/// Sums of all panels, [panels][rows][16].
std::vector<float> products(const GemmKernels& kernels, const PackedMatrix& m, const View& x) {
  const int64_t n = x.shape[0];
  GemmWeights w;
  w.data = static_cast<const uint8_t*>(m.data.view().data);
  w.type = static_cast<int>(m.type);
  w.panel_bytes = m.panel_bytes();
  w.padded_k = m.padded_k();
  w.span_len = m.k;
  std::vector<int16_t> q(static_cast<size_t>(n * m.padded_k()));
  GemmRows rows;
  rows.count = static_cast<int>(n);
  for (int64_t r = 0; r < n; ++r) {
    rows.x[r] = x.f32() + r * m.k;
    if (m.type != WeightType::kQ8) continue;
    rows.scale[r] =
        kernels.quantize(x.f32() + r * m.k, m.k, m.padded_k(), q.data() + r * m.padded_k());
    rows.x[r] = q.data() + r * m.padded_k();
  }
  std::vector<float> sums(static_cast<size_t>(m.panels() * n * 16));
  for (int64_t p = 0; p < m.panels(); p += 4) {
    const int count = static_cast<int>(std::min<int64_t>(4, m.panels() - p));
    kernels.products(w, rows, p, count, sums.data() + p * n * 16);
  }
  return sums;
}

TEST(Gemm, EveryInstructionSetAgreesWithPlainSums) {
  for (const WeightType type : {WeightType::kF32, WeightType::kBF16, WeightType::kQ8}) {
    for (const int64_t k : {5, 64, 531}) {
      const Tensor weight = random({80, k}, 1), x = random({20, k}, 2);
      const PackedMatrix m = PackedMatrix::pack(
          80, k, type, [&](int64_t o, float* row) { copy_as_f32(weight, o * k, k, row); });
      const double bound = type == WeightType::kF32    ? 2e-6
                           : type == WeightType::kBF16 ? 0.01
                                                       : 0.03;
      for (const Set& set : runnable()) {
        const std::vector<float> all = products(*set.kernels, m, x);
        for (const int64_t n : {1, 2, 3, 5, 7, 20}) {
          const std::vector<float> sums = products(*set.kernels, m, x.view().slice(0, n));
          for (int64_t r = 0; r < n; ++r) {
            for (int64_t o = 0; o < 80; ++o) {
              const float got = sums[(o / 16 * n + r) * 16 + o % 16];
              ASSERT_EQ(got, all[(o / 16 * 20 + r) * 16 + o % 16]) << set.name << " " << n;
              double want = 0;
              for (int64_t i = 0; i < k; ++i) {
                want += double{x.f32()[r * k + i]} * weight.f32()[o * k + i];
              }
              ASSERT_NEAR(got, want, 5 * bound * std::sqrt(static_cast<double>(k))) << set.name;
            }
          }
        }
      }
    }
  }
}

TEST(Gemm, QuantizedRowsAreTheSameOnEveryInstructionSet) {
  const Tensor x = random({1, 77}, 3);
  for (const Set& set : runnable()) {
    int16_t q[128];
    std::memset(q, 1, sizeof q);
    const float scale = set.kernels->quantize(x.f32(), 77, 128, q);
    for (int i = 0; i < 128; ++i) {
      const double want = i < 77 ? x.f32()[i] / scale : 0.0;
      EXPECT_NEAR(q[i], want, 0.51) << set.name;
    }
    Tensor zeros({1, 77}, DType::kF32);
    EXPECT_EQ(set.kernels->quantize(zeros.f32(), 77, 128, q), 0.0f);
    for (const int16_t value : q) EXPECT_EQ(value, 0);
  }
}

TEST(Gemm, FinishAddsBiasAndKeepsToItsColumns) {
  const Tensor sums = random({2, 3, 16}, 4), bias = random({32}, 5);
  for (const Set& set : runnable()) {
    for (const int width : {16, 5}) {
      for (const int kind : {0, 1, 2}) {
        float out[3][20];
        for (auto& row : out) std::fill(std::begin(row), std::end(row), 2.0f);
        float* rows[] = {out[0], out[1], out[2]};
        GemmFinish f;
        f.sums = sums.f32();
        f.bias = bias.f32();
        if (kind == 2) f.sums1 = sums.f32() + 48, f.bias1 = bias.f32() + 16;
        f.out = rows;
        f.rows = 3;
        f.width = width;
        f.add = kind == 1;
        set.kernels->finish(f);
        for (int r = 0; r < 3; ++r) {
          for (int o = 0; o < 20; ++o) {
            const double a = double{sums.f32()[r * 16 + o % 16]} + bias.f32()[o % 16];
            const double b = double{sums.f32()[48 + r * 16 + o % 16]} + bias.f32()[16 + o % 16];
            const double want = o >= width  ? 2
                                : kind == 0 ? a
                                : kind == 1 ? 2 + a
                                            : a / (1 + std::exp(-a)) * b;
            EXPECT_NEAR(out[r][o], want, 1e-6 * (1 + std::fabs(want))) << set.name << " " << kind;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace syrinx::cpu
