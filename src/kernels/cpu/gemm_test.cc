// Compares with plain sums the code of each instruction set that this machine can run. linear_test
// and conv_test run only the best set.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "base/cpu_features.h"
#include "base/float16.h"
#include "kernels/cpu/gemm_amx_impl.h"
#include "kernels/cpu/gemm_impl.h"
#include "kernels/cpu/gemm_models_test.h"
#include "kernels/cpu/gemm_sets.h"
#include "kernels/cpu/tile_emulation.h"
#include "kernels/cpu/tile_model.h"
#include "kernels/fixture.h"
#include "kernels/four_bits.h"
#include "kernels/packed_matrix.h"

namespace syrinx::cpu {
namespace {

using namespace gemm_models;
using fixture::random;

TEST(Gemm, EveryInstructionSetAgreesWithPlainSums) {
  for (const WeightType type : {WeightType::kF32, WeightType::kBF16, WeightType::kBF16A16,
                                WeightType::kQ8, WeightType::kQ8A8, WeightType::kQ4}) {
    for (const int64_t k : {5, 64, 530, 531}) {
      if (pairs_if_even(type, k) != type) continue;
      const Tensor weight = random({80, k}, 1), x = random({20, k}, 2);
      const PackedMatrix m = PackedMatrix::pack(
          80, k, type, [&](int64_t o, float* row) { copy_as_f32(weight, o * k, k, row); });
      const double bound = type == WeightType::kF32       ? 2e-6
                           : type == WeightType::kBF16    ? 0.01
                           : type == WeightType::kBF16A16 ? 0.015
                           : type == WeightType::kQ4      ? 0.1
                                                          : 0.03;
      for (const TestedSet& set : runnable()) {
        const std::vector<float> all = products(set.kernels, m, x);
        for (const int64_t n : {1, 2, 3, 5, 7, 20}) {
          const std::vector<float> sums = products(set.kernels, m, x.view().slice(0, n));
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

/// Reference for 8-bit products, equal bit for bit: exact sums over 64 values of k, added in order.
std::vector<float> sums_8_bit(const PackedMatrix& m, const View& x) {
  const int64_t n = x.shape[0], padded = m.padded_k();
  const bool by_group = m.type == WeightType::kQ8A8;
  std::vector<float> sums(static_cast<size_t>(m.panels() * n * 16));
  for (int64_t r = 0; r < n; ++r) {
    std::vector<float> row(static_cast<size_t>(padded));
    std::copy_n(x.f32() + r * m.k, m.k, row.begin());
    auto largest = [&](int64_t begin, int64_t end) {
      float top = 0;
      for (int64_t i = begin; i < end; ++i) top = std::max(top, std::fabs(row[i]));
      return top;
    };
    const float most = by_group ? 127.0f : 32767.0f, top = largest(0, padded);
    for (int64_t o = 0; o < m.panels() * 16; ++o) {
      float sum = 0;
      for (int64_t g = 0; g < padded / 64; ++g) {
        const uint8_t* group = static_cast<const uint8_t*>(m.data.view().data) +
                               o / 16 * m.panel_bytes() + g * PackedMatrix::kGroupBytes;
        const float high = by_group ? largest(g * 64, g * 64 + 64) : top;
        int32_t exact = 0;
        for (int64_t i = 0; i < 64; ++i) {
          const auto weight = static_cast<int8_t>(group[i / 2 * 32 + o % 16 * 2 + i % 2]);
          exact += static_cast<int32_t>(std::nearbyint(row[g * 64 + i] * (most / high))) * weight;
        }
        uint16_t bits;
        std::memcpy(&bits, group + 1024 + (o % 8 * 2 + o % 16 / 8) * 2, 2);
        const float scale = bf16_to_f32(bits) * (by_group ? high / most : 1.0f);
        sum = std::fma(static_cast<float>(exact), scale, sum);
      }
      sums[(o / 16 * n + r) * 16 + o % 16] = by_group ? sum : sum * (top / most);
    }
  }
  return sums;
}

/// Reference for 4-bit products, equal bit for bit: exact sums over 32 values of k, added in order.
std::vector<float> sums_4_bit(const PackedMatrix& m, const View& x) {
  const int64_t n = x.shape[0], padded = m.padded_k();
  std::vector<float> sums(static_cast<size_t>(m.panels() * n * 16));
  for (int64_t r = 0; r < n; ++r) {
    std::vector<float> row(static_cast<size_t>(padded));
    std::copy_n(x.f32() + r * m.k, m.k, row.begin());
    for (int64_t o = 0; o < m.panels() * 16; ++o) {
      const uint8_t* panel =
          static_cast<const uint8_t*>(m.data.view().data) + o / 16 * m.panel_bytes();
      float sum = 0;
      for (int64_t g = 0; g < padded / 32; ++g) {
        float top = 0;
        for (int64_t i = 0; i < 32; ++i) top = std::max(top, std::fabs(row[g * 32 + i]));
        const uint8_t* scales = panel + FourBits::scales_at(padded, g);
        uint16_t bits;
        std::memcpy(&bits, scales + o % 16 * 2, 2);
        const float scale = f16_to_f32(bits);
        double exact = 0;
        for (int64_t i = g * 32; i < g * 32 + 32; ++i) {
          const double x_i = std::nearbyint(row[i] * (127.0f / top));
          exact += scale > 0 ? x_i * (FourBits::weight(panel, padded, o % 16, i) / scale) : 0;
        }
        sum = std::fma(static_cast<float>(exact), scale * (top / 127.0f), sum);
      }
      sums[(o / 16 * n + r) * 16 + o % 16] = sum;
    }
  }
  return sums;
}

TEST(Gemm, FourBitsAreTheSameOnEveryInstructionSetThatFuses) {
  std::vector<TestedSet> sets = runnable();
  sets.erase(sets.begin());  // the first set is portable code
  GemmKernels model = gemm_kernels_portable();
  model.products_q4 = products_q4<Model<16, 8>>;
  sets.push_back({"model of avx512vnni", model});
  model.products_q4 = products_q4<Model<8, 6>>;
  model.quantize_q4 = quantize_q4<Model<8, 6>>;
  sets.push_back({"model of avxvnni", model});
  sets.push_back({"model of amx", model_of_amx()});
  for (const int64_t k : {5, 32, 531, 1100}) {
    Tensor weight = random({80, k}, 1);
    // The largest possible sums: every number is 15, and all activations have the same magnitude.
    for (int64_t i = 0; i < 16 * k; ++i) weight.f32()[i] = 15;
    const PackedMatrix m = PackedMatrix::pack(
        80, k, WeightType::kQ4, [&](int64_t o, float* row) { copy_as_f32(weight, o * k, k, row); });
    for (const int64_t n : {1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 20, 96}) {
      Tensor x = random({n, k}, static_cast<uint32_t>(k + n));
      for (int64_t i = 0; i < k; ++i) x.f32()[i] = n % 2 ? 1.0f : -1.0f;
      const std::vector<float> want = sums_4_bit(m, x);
      for (const TestedSet& set : sets) {
        const std::vector<float> got = products(set.kernels, m, x);
        ASSERT_EQ(std::memcmp(got.data(), want.data(), want.size() * 4), 0)
            << set.name << ", k " << k << ", rows " << n;
      }
    }
  }
}

// Tests tiles of every height, alone and after another tile, with several blocks of k.
TEST(Gemm, EightBitsAreTheSameOnEveryInstructionSetThatFuses) {
  std::vector<TestedSet> sets = runnable();
  sets.erase(sets.begin());  // the first set is portable code
  GemmKernels model = gemm_kernels_portable();
  model.products_q8 = products_q8<RowScale<Model<16, 8>>>;
  model.products_q8a8 = products_q8<ModelOfBytes<16, 8>>;
  model.quantize_groups = quantize_groups<ModelOfBytes<16, 8>>;
  sets.push_back({"model of avx512vnni", model});
  model.products_q8 = products_q8<RowScale<Model<8, 6>>>;
  model.products_q8a8 = products_q8<ModelOfBytes<8, 6>>;
  model.quantize_groups = quantize_groups<ModelOfBytes<8, 6>>;
  sets.push_back({"model of avxvnni", model});
  sets.push_back({"model of amx", model_of_amx()});
  for (const WeightType type : {WeightType::kQ8, WeightType::kQ8A8}) {
    for (const int64_t k : {5, 64, 531, 1100}) {
      const Tensor weight = random({80, k}, 1);
      const PackedMatrix m = PackedMatrix::pack(
          80, k, type, [&](int64_t o, float* row) { copy_as_f32(weight, o * k, k, row); });
      for (const int64_t n : {1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 20, 96}) {
        const Tensor x = random({n, k}, static_cast<uint32_t>(k + n));
        const std::vector<float> want = sums_8_bit(m, x);
        for (const TestedSet& set : sets) {
          const std::vector<float> got = products(set.kernels, m, x);
          ASSERT_EQ(std::memcmp(got.data(), want.data(), want.size() * 4), 0)
              << set.name << " " << weight_type_name(type) << ", k " << k << ", rows " << n;
        }
      }
    }
  }
}

/// Reference for bf16a16, equal bit for bit: adds the second product of each pair of k first.
std::vector<float> sums_of_pairs(const PackedMatrix& m, const View& x) {
  const int64_t n = x.shape[0];
  const auto* weights = static_cast<const uint16_t*>(m.data.view().data);
  std::vector<float> sums(static_cast<size_t>(m.panels() * n * 16));
  for (int64_t r = 0; r < n; ++r) {
    for (int64_t o = 0; o < m.panels() * 16; ++o) {
      const uint16_t* panel = weights + o / 16 * m.panel_bytes() / 2;
      float sum = 0;
      for (int64_t pair = 0; pair < m.k; pair += 2) {
        for (const int64_t i : {pair + 1, pair}) {
          const float number = bf16_to_f32(f32_to_bf16(x.f32()[r * m.k + i]));
          sum = std::fma(number, bf16_to_f32(panel[pair * 16 + o % 16 * 2 + i % 2]), sum);
        }
      }
      sums[(o / 16 * n + r) * 16 + o % 16] = sum;
    }
  }
  return sums;
}

bool has_tiles(const TestedSet& set) { return set.name.find("amx") != std::string::npos; }

TEST(Gemm, PairsOfHalvesAreTheSameOnEveryInstructionSetThatFuses) {
  std::vector<TestedSet> sets = runnable();
  sets.erase(sets.begin());  // the first set is portable code
  std::erase_if(sets, has_tiles);
  GemmKernels model = gemm_kernels_portable();
  model.products_bf16a16 = products_of<ModelOfDots>;
  model.rounded_bytes = sizeof(uint16_t);
  model.round = [](const float* x, int64_t count, void* to) {
    for (int64_t i = 0; i < count; ++i) static_cast<uint16_t*>(to)[i] = f32_to_bf16(x[i]);
  };
  sets.push_back({"model of avx512bf16", model});
  for (const int64_t k : {2, 64, 530, 1102}) {
    const Tensor weight = random({80, k}, 1);
    const PackedMatrix m =
        PackedMatrix::pack(80, k, WeightType::kBF16A16,
                           [&](int64_t o, float* row) { copy_as_f32(weight, o * k, k, row); });
    for (const int64_t n : {1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 20, 96}) {
      const Tensor x = random({n, k}, static_cast<uint32_t>(k + n));
      const std::vector<float> want = sums_of_pairs(m, x);
      for (const TestedSet& set : sets) {
        const std::vector<float> got = products(set.kernels, m, x);
        ASSERT_EQ(std::memcmp(got.data(), want.data(), want.size() * 4), 0)
            << set.name << ", k " << k << ", rows " << n;
      }
    }
  }
}

/// Reference for bf16a16 with AMX tiles (BF16Tiles in gemm_amx_impl.h), equal bit for bit: each
/// block of 32 values of a span has separate sums of even and odd k.
std::vector<float> sums_of_stretches(const PackedMatrix& m, const GemmWeights& w, const View& x) {
  const auto* weights = static_cast<const uint16_t*>(m.data.view().data);
  const int64_t n = x.shape[0];
  std::vector<float> sums(static_cast<size_t>(m.panels() * n * 16));
  for (int64_t r = 0; r < n; ++r) {
    for (int64_t o = 0; o < m.panels() * 16; ++o) {
      const uint16_t* panel = weights + o / 16 * m.panel_bytes() / 2;
      float sum = 0;
      for (int64_t span = 0; span < w.spans; ++span) {
        for (int64_t begin = 0; begin < w.span_len; begin += 32) {
          float apart[2] = {};
          for (int64_t i = begin; i < std::min(begin + 32, w.span_len); ++i) {
            const int64_t k = span * w.span_len + i;
            const float at = x.f32()[r * x.shape[1] + span * w.span_step + i];
            const float number = bf16_to_f32(f32_to_bf16(at));
            const float weight = bf16_to_f32(panel[k / 2 * 32 + o % 16 * 2 + k % 2]);
            apart[i % 2] = std::fma(number, weight, apart[i % 2]);
          }
          sum += apart[0] + apart[1];
        }
      }
      sums[(o / 16 * n + r) * 16 + o % 16] = sum;
    }
  }
  return sums;
}

TEST(Gemm, TilesAddHalvesByStretches) {
  std::vector<TestedSet> sets = runnable();
  std::erase_if(sets, [](const TestedSet& set) { return !has_tiles(set); });
  sets.push_back({"model of amx", model_of_amx()});
  struct Spans {
    int64_t count, len, step;
  };
  for (const Spans spans : {Spans{1, 2, 0}, {1, 64, 0}, {1, 1102, 0}, {3, 48, 100}, {7, 32, 64}}) {
    const int64_t k = spans.count * spans.len, width = (spans.count - 1) * spans.step + spans.len;
    const Tensor weight = random({80, k}, 1);
    const PackedMatrix m =
        PackedMatrix::pack(80, k, WeightType::kBF16A16,
                           [&](int64_t o, float* row) { copy_as_f32(weight, o * k, k, row); });
    for (const int64_t n : {1, 2, 16, 17, 33}) {
      const Tensor x = random({n, width}, static_cast<uint32_t>(k + n));
      GemmWeights w;
      w.data = static_cast<const uint8_t*>(m.data.view().data);
      w.panels = m.panels();
      w.panel_bytes = m.panel_bytes();
      w.spans = spans.count;
      w.span_len = spans.len;
      w.span_step = spans.step;
      const std::vector<float> want = sums_of_stretches(m, w, x);
      std::vector<uint16_t> rounded(static_cast<size_t>(n * width));
      for (int64_t i = 0; i < n * width; ++i) rounded[i] = f32_to_bf16(x.f32()[i]);
      // First all rows are adjacent. Then one row is elsewhere, so that the rows must be copied.
      for (const bool apart : {false, true}) {
        if (apart && n < 3) continue;
        GemmRows rows;
        rows.count = static_cast<int>(n);
        for (int64_t r = 0; r < n; ++r) rows.x[r] = rounded.data() + r * width;
        const std::vector<uint16_t> moved(rounded.begin() + 2 * width, rounded.begin() + 3 * width);
        if (apart) rows.x[2] = moved.data();
        for (const TestedSet& set : sets) {
          std::vector<float> got(want.size());
          set.kernels.products_bf16a16(w, rows, 0, 4, got.data());
          set.kernels.products_bf16a16(w, rows, 4, 1, got.data() + 4 * n * 16);
          ASSERT_EQ(std::memcmp(got.data(), want.data(), want.size() * 4), 0)
              << set.name << ", k " << k << ", rows " << n;
        }
      }
    }
  }
}

TEST(Gemm, TilesTakeWhatIsTooSmallForZero) {
  TileRegisters tiles;
  TileConfig config = tile_config(1, 8);
  tiles.configure(config);
  const float small = std::ldexp(1.0f, -120);
  // Two products are denormal, one input is denormal, and one product is normal.
  const uint16_t x[4] = {f32_to_bf16(small), f32_to_bf16(std::ldexp(1.0f, -130)),
                         f32_to_bf16(small), f32_to_bf16(1.0f)};
  uint16_t weights[2][32] = {};
  weights[0][0] = weights[0][1] = weights[1][0] = f32_to_bf16(std::ldexp(1.0f, -7));
  weights[0][1] = f32_to_bf16(std::ldexp(1.0f, 20));
  weights[1][1] = f32_to_bf16(std::ldexp(1.0f, -100));
  tiles.load(kRowTile, x, 8);
  tiles.load(kWeightTile, weights, 64);
  tiles.dot_bf16(kSumTile, kRowTile, kWeightTile);
  float sums[16];
  tiles.store(kSumTile, sums, 64);
  EXPECT_EQ(sums[0], std::ldexp(1.0f, -100));
}

TEST(Gemm, RoundingGoesToTheNearestEvenOnEveryInstructionSet) {
  const float inf = std::numeric_limits<float>::infinity();
  std::vector<float> x = {0.f, -0.f, 1.f, inf, -inf, 1.00390625f, 1.01171875f, -1.00390626f, 3e38f};
  for (int i = 0; i < 40; ++i)
    x.push_back(std::ldexp(1.2345678f + 0.01f * static_cast<float>(i), i - 20));
  for (const float nan : {std::nanf(""), std::bit_cast<float>(0x7fffffff)}) x.push_back(nan);
  const auto count = std::ssize(x);
  for (const TestedSet& set : runnable()) {
    std::vector<uint8_t> to(x.size() * 4 + 4, 0x55);
    set.kernels.round(x.data(), count, to.data());
    const auto size = static_cast<size_t>(set.kernels.rounded_bytes);
    for (size_t i = 0; i < x.size(); ++i) {
      uint32_t got = 0;
      std::memcpy(&got, to.data() + i * size, size);
      if (size == 2) got <<= 16;
      const float value = std::bit_cast<float>(got);
      if (std::isnan(x[i])) {
        EXPECT_TRUE(std::isnan(value)) << set.name;
      } else {
        EXPECT_EQ(value, bf16_to_f32(f32_to_bf16(x[i]))) << set.name << " " << x[i];
      }
    }
    EXPECT_EQ(to[x.size() * size], 0x55) << set.name;
  }
}

TEST(Gemm, SetsFollowTheFeatures) {
  auto best = [](CpuFeatures f) { return std::string(gemm_sets(f).back().name); };
  CpuFeatures f;
  EXPECT_EQ(best(f), "portable");
#if defined(__x86_64__)
  f.avx2 = true;
  EXPECT_EQ(best(f), "avx2");
  f.avx_vnni = true;
  EXPECT_EQ(best(f), "avxvnni");
  f.avx512 = true;
  f.avx_vnni = false;
  EXPECT_EQ(best(f), "avx512");
  f.avx512_vnni = f.avx_vnni = true;
  EXPECT_EQ(best(f), "avx512vnni");
  f.avx512_bf16 = true;
  EXPECT_EQ(best(f), "avx512vnni");
  f.quick_dots = true;
  EXPECT_EQ(best(f), "avx512bf16");
  f.amx = true;
  EXPECT_EQ(best(f), "amx");
#elif defined(__aarch64__)
  f.neon = true;
  EXPECT_EQ(best(f), "neon");
  f.neon_dot = true;
  EXPECT_EQ(best(f), "neondot");
#endif
}

TEST(Gemm, QuantizedRowsAreTheSameOnEveryInstructionSet) {
  const Tensor x = random({1, 77}, 3);
  for (const TestedSet& set : runnable()) {
    int16_t q[128];
    std::memset(q, 1, sizeof q);
    const float scale = set.kernels.quantize(x.f32(), 77, 128, q);
    const bool planes = set.name == "amx for many rows";
    for (int i = 0; i < 128; ++i) {
      const auto* bytes = reinterpret_cast<const int8_t*>(q) + i / 64 * 128 + i % 64;
      const int got = planes ? static_cast<uint8_t>(bytes[0]) + 256 * bytes[64] : q[i];
      const double want = i < 77 ? x.f32()[i] / scale : 0.0;
      EXPECT_NEAR(got, want, 0.51) << set.name;
    }
    Tensor zeros({1, 77}, DType::kF32);
    EXPECT_EQ(set.kernels.quantize(zeros.f32(), 77, 128, q), 0.0f);
    for (const int16_t value : q) EXPECT_EQ(value, 0);
  }
}

TEST(Gemm, FinishAddsBiasAndKeepsToItsColumns) {
  const Tensor sums = random({2, 3, 16}, 4), bias = random({32}, 5);
  for (const TestedSet& set : runnable()) {
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
        set.kernels.finish(f);
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
