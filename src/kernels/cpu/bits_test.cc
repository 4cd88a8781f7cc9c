// AVX2 and NEON code, and all code that uses them, must have the same bits. This test compares
// checksums that were computed on x86-64; tools/neon_check runs it for aarch64. An intended change
// of a polynomial or of an order of sums requires new checksums.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/cpu_features.h"
#include "kernels/activation_impl.h"
#include "kernels/attention.h"
#include "kernels/attention_impl.h"
#include "kernels/channels_impl.h"
#include "kernels/cpu/gemm_sets.h"
#include "kernels/embedding_impl.h"
#include "kernels/norm_impl.h"
#include "kernels/packed_matrix.h"
#include "kernels/rope_impl.h"
#include "kernels/sample_impl.h"

namespace syrinx {
namespace {

/// Returns numbers in [-4, 4) by arithmetic of its own, so that no library can change them.
std::vector<float> made_up(int64_t count, uint32_t seed) {
  std::vector<float> x(static_cast<size_t>(count));
  for (float& value : x) {
    seed = seed * 1664525 + 1013904223;
    value = static_cast<float>(static_cast<int32_t>(seed)) * 0x1p-29f;
  }
  return x;
}

/// Computes an FNV-1a checksum.
uint64_t sum_of(const void* data, size_t bytes) {
  uint64_t sum = 14695981039346656037u;
  for (size_t i = 0; i < bytes; ++i) {
    sum = (sum ^ static_cast<const uint8_t*>(data)[i]) * 1099511628211u;
  }
  return sum;
}
template <class T>
uint64_t sum_of(const std::vector<T>& x) {
  return sum_of(x.data(), x.size() * sizeof(T));
}

class Bits : public testing::Test {
 protected:
  void SetUp() override {
    if (!cpu_features().simd()) GTEST_SKIP() << "no AVX2 or NEON";
  }
};

TEST_F(Bits, OfActivationsAreTheSameOnEveryProcessor) {
  std::vector<float> x = made_up(997, 1);
  for (int i = 0; i < 300; ++i) x[static_cast<size_t>(i)] *= 30;
  const std::array<float, 12> edges = {0.f,   -0.f, 1e-40f, -1e-40f, 1e30f,  -1e30f,
                                       88.8f, 89.f, -87.4f, -104.f,  0.625f, -0.35f};
  std::copy(edges.begin(), edges.end(), x.begin() + 300);
  const std::vector<float> y = made_up(997, 2), z = made_up(997, 3);
  const int64_t n = std::ssize(x);
  const std::array<uint64_t, 13> want = {
      0x03c73e8ec2b54407u, 0x34a4afa5faf70791u, 0x23326a044d8c9579u, 0xf5da604c18cb6796u,
      0xc53b641401844d4au, 0x300850a296fe5af3u, 0x12e4c3142adc2376u, 0x3666a0797350643au,
      0xe8215b7722e3ab2bu, 0x6d0bf02b157d77b0u, 0xa0d2157e3b154a3eu, 0x005ef07f8148ad5du,
      0x6db1bafeaaa086f4u};
  std::vector<uint64_t> got;
  std::vector<float> out(x.size());
  for (const Activation f :
       {Activation::kSilu, Activation::kGelu, Activation::kGeluTanh, Activation::kElu,
        Activation::kRelu, Activation::kTanh, Activation::kSigmoid, Activation::kMish}) {
    simd::activate(f, x.data(), out.data(), n);
    got.push_back(sum_of(out));
  }
  simd::silu_mul(x.data(), y.data(), out.data(), n);
  got.push_back(sum_of(out));
  simd::snake_each(x.data(), y.data(), z.data(), out.data(), n);
  got.push_back(sum_of(out));
  simd::snake_one(y.data(), 1.7f, 0.6f, out.data(), n);
  got.push_back(sum_of(out));
  simd::add_scaled(out.data(), x.data(), y.data(), n);
  got.push_back(sum_of(out));
  simd::add(out.data(), z.data(), n);
  got.push_back(sum_of(out));
  EXPECT_EQ(got, std::vector(want.begin(), want.end()));
}

TEST_F(Bits, OfRowsAreTheSameOnEveryProcessor) {
  const std::vector<float> x = made_up(1003, 4), y = made_up(1003, 5), z = made_up(1003, 6);
  const std::array<uint64_t, 8> want = {
      0x63a8c2ae62516216u, 0xb43cf617c423fbd6u, 0x7dd8dd08a3db03afu, 0x0d75d7a2c97a3d85u,
      0x271ca8d5de7dc394u, 0xf1d7b49a3f13e815u, 0x946d8f85eeddbd0bu, 0x67a5b8589f127e52u};
  std::vector<uint64_t> got;
  std::vector<float> out = x;
  simd::rms_norm_row(x.data(), y.data(), 1003, 1e-5f, out.data());
  got.push_back(sum_of(out));
  simd::layer_norm_row(x.data(), y.data(), z.data(), 1003, 1e-5f, out.data());
  got.push_back(sum_of(out));
  simd::add_row(out.data(), y.data(), 1003);
  got.push_back(sum_of(out));
  simd::rope_half_split(out.data(), y.data(), z.data(), 501);
  got.push_back(sum_of(out));
  std::vector<uint16_t> halves(1003);
  for (size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<uint16_t>(i * 26);
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    simd::embed_row(halves.data(), dtype, 1003, true, out.data());
    got.push_back(sum_of(out));
  }
  float top = 0;
  EXPECT_TRUE(simd::copy_logits(x.data(), 1003, out.data(), &top));
  simd::divide(out.data(), 1003, 0.7f);
  got.push_back(sum_of(out));
  const double mass = simd::exp_sum(out.data(), 1003, top);
  got.push_back(sum_of(&mass, sizeof mass));
  EXPECT_EQ(got, std::vector(want.begin(), want.end()));
}

TEST_F(Bits, OfChannelsAreTheSameOnEveryProcessor) {
  constexpr int64_t kWidth = 77, kRows = 13;
  const std::vector<float> x = made_up(kRows * kWidth, 4), a = made_up(kWidth, 5),
                           b = made_up(kWidth, 6), c = made_up(kWidth, 7), d = made_up(kWidth, 8);
  const std::array<uint64_t, 3> want = {0x14ff68bf9b58c773u, 0x4e9066a58e581e21u,
                                        0x84f53dae1535f577u};
  std::vector<uint64_t> got;
  std::vector<float> sums(2 * kWidth), out(kWidth);
  simd::channel_sums(x.data(), a.data(), kRows, kWidth, sums.data());
  got.push_back(sum_of(sums));
  simd::scale_row(x.data(), a.data(), b.data(), kWidth, out.data());
  got.push_back(sum_of(out));
  simd::scale_snake_row(x.data(), a.data(), b.data(), c.data(), d.data(), kWidth, out.data());
  got.push_back(sum_of(out));
  EXPECT_EQ(got, std::vector(want.begin(), want.end()));
}

TEST_F(Bits, OfAttentionAreTheSameOnEveryProcessor) {
  constexpr int kDim = 72, kLength = 300;
  const std::array<std::array<uint64_t, 2>, 4> want = {
      {{0x086c8656b9fab75eu, 0x82b9cca2d085925au},
       {0xa3c8d5d5bd608431u, 0x4ed82c8de056b2d9u},
       {0x2903a3358c2ca0c6u, 0xf7f7ff8edfc10305u},
       {0x9d5ebbd8aa39e963u, 0x578707962716880du}}};
  std::array<std::array<uint64_t, 2>, 4> got;
  const std::vector<float> k = made_up(kLength * kDim, 7), v = made_up(kLength * kDim, 8),
                           q = made_up(6 * kDim, 9);
  int at = 0;
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kI8}) {
    const KvPool pool({1, 1, kDim, dtype}, 10);
    std::vector<int32_t> table;
    for (int i = 0; i < kLength; i += 32) {
      table.push_back(i / 32);
      simd::write_kv_rows({k.data() + i * kDim, v.data() + i * kDim, kDim, kDim,
                           static_cast<char*>(pool.keys(0, i / 32, 0)), kDim, 0,
                           std::min(32, kLength - i), dtype});
    }
    std::vector<float> out(q.size());
    AttentionTile tile;
    tile.q = q.data(), tile.out = out.data();
    tile.q_stride = tile.out_stride = 2 * kDim;
    tile.rows = 3, tile.group = 2, tile.dim = kDim;
    tile.position = kLength - 3, tile.kv_len = kLength;
    tile.head = static_cast<const char*>(pool.keys(0, 0, 0));
    tile.page_bytes = static_cast<int64_t>(KvPool::page_bytes(pool.spec()));
    tile.table = table.data(), tile.max_pages = static_cast<int>(table.size());
    tile.dtype = dtype, tile.scale = 0.1f, tile.window = 200;
    simd::attend(tile);
    got[at++] = {sum_of(pool.keys(0, 0, 0), 10 * KvPool::page_bytes(pool.spec())), sum_of(out)};
#if defined(__x86_64__)
    std::vector<float> other(q.size());
    if (dtype != DType::kBF16 || !cpu_features().avx512) continue;
    tile.out = other.data(), tile.pair_product = &pair_product_avx512;
    simd::attend(tile);
    EXPECT_EQ(sum_of(other), sum_of(out));
    if (!cpu_features().avx512_bf16) continue;
    std::fill(other.begin(), other.end(), 0.f);
    tile.dot_product = &pair_product_avx512bf16;
    simd::attend(tile);
    EXPECT_EQ(sum_of(other), sum_of(out));
#endif
  }
  EXPECT_EQ(got, want);
}

/// A cache of 8 bits: q and weights of 16 and of 8 bits; with a window, bounds and a cap.
TEST_F(Bits, OfAttentionIn8BitsAreTheSameOnEveryProcessor) {
  constexpr int kDim = 88, kLength = 300, kRows = 14;
  const KvPool pool({1, 1, kDim, DType::kI8}, 10);
  const std::vector<float> k = made_up(kLength * kDim, 7), q = made_up(kRows * kDim, 9);
  std::vector<float> v = made_up(kLength * kDim, 8);
  for (int i = 0; i < kLength * kDim; ++i)
    v[i] *= static_cast<float>(1 + i / kDim);  // growing scales
  std::vector<int32_t> table;
  for (int i = 0; i < kLength; i += 32) {
    table.push_back(i / 32);
    simd::write_kv_rows({k.data() + i * kDim, v.data() + i * kDim, kDim, kDim,
                         static_cast<char*>(pool.keys(0, i / 32, 0)), kDim, 0,
                         std::min(32, kLength - i), DType::kI8});
  }
  AttentionTile tile;
  tile.q_stride = tile.out_stride = kDim, tile.group = 1, tile.dim = kDim;
  tile.position = kLength - kRows, tile.kv_len = kLength;
  tile.head = static_cast<const char*>(pool.keys(0, 0, 0));
  tile.page_bytes = static_cast<int64_t>(KvPool::page_bytes(pool.spec()));
  tile.table = table.data(), tile.max_pages = static_cast<int>(table.size());
  tile.dtype = DType::kI8, tile.scale = 0.1f;
  /// Runs tiles of at most `most` rows.
  const auto run = [&](AttentionTile t, int most) {
    std::vector<float> out(q.size());
    for (int row = 0; row < kRows; row += most, t.position += most) {
      t.q = q.data() + row * kDim, t.out = out.data() + row * kDim;
      t.rows = std::min(most, kRows - row);
      simd::attend(t);
    }
    return sum_of(out);
  };
  std::vector<uint64_t> got;
  for (const bool bytes : {false, true}) {
    for (int shape = 0; shape < 4; ++shape) {
      AttentionTile t = tile;
      t.bytes = bytes;
      t.causal = shape == 1 || shape == 2;
      if (shape == 2) t.window = 100;
      if (shape == 3) t.begin = 40, t.end = 290, t.cap = 20;
      got.push_back(run(t, 12));
      EXPECT_EQ(run(t, 1), got.back());
      EXPECT_EQ(run(t, 7), got.back());
#if defined(__x86_64__)
      if (!cpu_features().avx512) continue;
      t.q8_weights = &q8_weights_avx512;
      EXPECT_EQ(run(t, 12), got.back()) << shape;
      if (!cpu_features().avx512_vnni) continue;
      t.word_product = &pair_product_avx512vnni;
      EXPECT_EQ(run(t, 12), got.back()) << shape;
      t.attend_bytes = &attend_bytes_avx512vnni;
      for (const int most : {12, 7, 1}) EXPECT_EQ(run(t, most), got.back()) << shape;
      for (float scale = 0.1f; scale > 0.001f; scale *= 0.9f) {
        AttentionTile narrow = t;
        t.scale = narrow.scale = scale;
        narrow.q8_weights = nullptr, narrow.attend_bytes = nullptr;
        EXPECT_EQ(run(t, 12), run(narrow, 12)) << scale;
      }
#endif
    }
  }
  const std::vector<uint64_t> want = {0xdcdb5c17ea781779u, 0xf4c0cb36102289b1u, 0x9a5c98f9a53b38f5u,
                                      0xc35c57fc134fb3abu, 0x4bb58c9e43670664u, 0x87021205af567b64u,
                                      0x395c42e9c7f0f98eu, 0x094f7513bd1a3e7au};
  EXPECT_EQ(got, want);
}

/// Returns two checksums: of the sums of [kRows] rows times two panels, and of the output of
/// finish() with these sums as a gate.
std::array<uint64_t, 2> product_bits(const cpu::GemmKernels& kernels, const PackedMatrix& m,
                                     const std::vector<float>& x) {
  const auto run = m.type == WeightType::kQ8        ? kernels.products_q8
                   : m.type == WeightType::kQ8A8    ? kernels.products_q8a8
                   : m.type == WeightType::kQ4      ? kernels.products_q4
                   : m.type == WeightType::kBF16A16 ? kernels.products_bf16a16
                                                    : kernels.products;
  cpu::GemmWeights w;
  w.data = static_cast<const uint8_t*>(m.data.view().data);
  w.type = static_cast<int>(m.type);
  w.panels = m.panels(), w.panel_bytes = m.panel_bytes();
  w.padded_k = m.padded_k(), w.span_len = m.k;
  cpu::GemmRows rows;
  rows.count = static_cast<int>(std::ssize(x) / m.k);
  const int64_t row_bytes = cpu::gemm_group_row_bytes(m.padded_k()) + 4 * m.k;
  std::vector<uint8_t> narrow(static_cast<size_t>(rows.count * row_bytes));
  for (int64_t r = 0; r < rows.count; ++r) {
    const float* from = x.data() + r * m.k;
    uint8_t* to = narrow.data() + r * row_bytes;
    rows.x[r] = to;
    if (m.type == WeightType::kQ8) {
      rows.scale[r] = kernels.quantize(from, m.k, w.padded_k, reinterpret_cast<int16_t*>(to));
    } else if (m.type == WeightType::kQ8A8) {
      kernels.quantize_groups(from, m.k, w.padded_k, to);
    } else if (m.type == WeightType::kQ4) {
      kernels.quantize_q4(from, m.k, w.padded_k, to);
    } else if (m.type == WeightType::kBF16A16) {
      kernels.round(from, m.k, to);
    } else {
      rows.x[r] = from;
    }
  }
  std::vector<float> sums(static_cast<size_t>(2 * rows.count * 16)), gated(sums.size() / 2);
  run(w, rows, 0, 2, sums.data());
  std::vector<float*> out;
  for (int64_t r = 0; r < rows.count; ++r) out.push_back(gated.data() + r * 16);
  cpu::GemmFinish finish;
  finish.sums = sums.data(), finish.sums1 = sums.data() + rows.count * 16;
  finish.bias = x.data(), finish.bias1 = x.data() + 16;
  finish.out = out.data(), finish.rows = rows.count;
  kernels.finish(finish);
  return {sum_of(sums), sum_of(gated)};
}

TEST_F(Bits, OfProductsAreTheSameOnEveryProcessor) {
  constexpr int64_t kK = 530, kRows = 15;
  const std::vector<float> weight = made_up(32 * kK, 10), x = made_up(kRows * kK, 11);
  const std::array<std::array<uint64_t, 2>, 6> want = {
      {{0xfe5635c136ea5cfau, 0xc90be20206a1fd93u},
       {0xf1667c8e4b9f16f6u, 0xdc83f68470082346u},
       {0x009c565092759d36u, 0x2e689f738796cda0u},
       {0x5bb67f73057bcf7au, 0xd8b3d33da46f0932u},
       {0x91abfb7befd0f32bu, 0x7f1dd2b6e0526e32u},
       {0x1f9f5f4944931e73u, 0x69ad7794a52510fau}}};
  for (const cpu::GemmSet& set : cpu::gemm_sets(cpu_features())) {
    const std::string name = set.name;
    for (size_t type = 0; type < want.size(); ++type) {
      const auto as = static_cast<WeightType>(type);
      // Portable code does not fuse multiply and add; AMX adds bf16a16 in another order.
      if (name == "portable" || (name == "amx" && as == WeightType::kBF16A16)) continue;
      const PackedMatrix m = PackedMatrix::pack(
          32, kK, as, [&](int64_t o, float* row) { std::copy_n(weight.data() + o * kK, kK, row); });
      EXPECT_EQ(product_bits(set.few, m, x), want[type]) << name << " " << weight_type_name(as);
    }
  }
}

/// tools/neon_check sets the processor, and therefore the expected instruction set.
TEST_F(Bits, AreThoseOfTheBestSet) {
  const char* name = std::getenv("SYRINX_BEST_SET");
  EXPECT_STREQ(cpu::gemm_set().name, name ? name : cpu::gemm_sets(cpu_features()).back().name);
}

}  // namespace
}  // namespace syrinx
