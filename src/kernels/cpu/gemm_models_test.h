// For tests of the products: the instruction sets that this machine can run, and models of other
// instruction sets in scalar code.
#pragma once

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
#include "kernels/cpu/gemm_sets.h"
#include "kernels/cpu/tile_emulation.h"
#include "kernels/cpu/tile_model.h"
#include "kernels/fixture.h"
#include "kernels/four_bits.h"
#include "kernels/packed_matrix.h"

namespace syrinx::cpu::gemm_models {

struct TestedSet {
  std::string name;
  GemmKernels kernels;
};

/// Returns the instruction sets that can be tested here. AMX tiles are emulated if necessary.
inline std::vector<TestedSet> runnable() {
  CpuFeatures features = cpu_features();
#if defined(__x86_64__) && defined(__linux__)
  if (features.avx512_bf16 && !features.amx) {
    emulate_tiles();
    features.amx = true;
  }
#endif
  std::vector<TestedSet> sets;
  for (const GemmSet& set : gemm_sets(features)) {
    sets.push_back({set.name, set.few});
    if (set.few.products_q8 == set.many.products_q8) continue;
    sets.push_back({std::string(set.name) + " for many rows", set.many});
  }
  return sets;
}

/// The 8-bit products in scalar code with the lanes and tiles of a real instruction set. They test
/// packing and tiling on processors that lack the set. madd models vpdpwssd as its manual specifies
/// it; in ModelOfBytes it models vpdpbusd.
template <int kCount, int kMostRows>
struct Model {
  static constexpr int kLanes = kCount, kUnroll = 4, kTileRows = kMostRows;
  static constexpr int kTilePanels = kCount == 16 ? 2 : 1;
  struct F {
    float lane[kCount];
  };
  struct I {
    int32_t lane[kCount];
  };
  template <class T, class Lane>
  static T each(Lane value) {
    T all;
    for (int i = 0; i < kCount; ++i) all.lane[i] = value(i);
    return all;
  }
  static F load(const float* p) {
    return each<F>([&](int i) { return p[i]; });
  }
  static void store(float* p, F v) { std::copy_n(v.lane, kCount, p); }
  static void widen(const uint16_t* p, F (&w)[16 / kCount]) {
    for (int o = 0; o < 16; ++o) w[o / kCount].lane[o % kCount] = bf16_to_f32(p[o % 8 * 2 + o / 8]);
  }
  static F set1(float v) {
    return each<F>([&](int) { return v; });
  }
  static F add(F a, F b) {
    return each<F>([&](int i) { return a.lane[i] + b.lane[i]; });
  }
  static F mul(F a, F b) {
    return each<F>([&](int i) { return a.lane[i] * b.lane[i]; });
  }
  static F max(F a, F b) {
    return each<F>([&](int i) { return std::max(a.lane[i], b.lane[i]); });
  }
  static F round(F v) {
    return each<F>([&](int i) { return std::nearbyint(v.lane[i]); });
  }
  static float largest(F v) { return *std::max_element(v.lane, v.lane + kCount); }
  static float sum(F v) { return std::accumulate(v.lane, v.lane + kCount, 0.f); }
  static void store_i16(int16_t* p, F v) {
    for (int i = 0; i < kCount; ++i) p[i] = static_cast<int16_t>(v.lane[i]);
  }
  static F fma(F a, F b, F c) {
    return each<F>([&](int i) { return std::fma(a.lane[i], b.lane[i], c.lane[i]); });
  }
  static F to_f(I v) {
    return each<F>([&](int i) { return static_cast<float>(v.lane[i]); });
  }
  static I set1_i(int32_t v) {
    return each<I>([&](int) { return v; });
  }
  static int32_t join(int16_t low, int16_t high) {
    const int16_t both[] = {low, high};
    return std::bit_cast<int32_t>(both);
  }
  static I pairs(const uint8_t* p) {
    const auto* q = reinterpret_cast<const int8_t*>(p);
    return each<I>([&](int i) { return join(q[2 * i], q[2 * i + 1]); });
  }
  static I set1_pair(const int16_t* p) {
    return each<I>([&](int) { return join(p[0], p[1]); });
  }
  static void nibbles(const uint8_t* p, I& low, I& high) {
    std::memcpy(&low, p, sizeof low);
    std::memcpy(&high, p, sizeof high);
    for (int32_t& lane : low.lane) lane &= 0x0f0f0f0f;
    for (int32_t& lane : high.lane) lane = lane >> 4 & 0x0f0f0f0f;
  }
  static I set1_quad(const int8_t* p) {
    int32_t four;
    std::memcpy(&four, p, 4);
    return set1_i(four);
  }
  static I dot(I w, I x, I c) {
    return each<I>([&](int i) {
      const auto a = std::bit_cast<std::array<uint8_t, 4>>(w.lane[i]);
      const auto b = std::bit_cast<std::array<int8_t, 4>>(x.lane[i]);
      int32_t sum = c.lane[i];
      for (int j = 0; j < 4; ++j) sum += int32_t{a[j]} * b[j];
      return sum;
    });
  }
  static I total(I c) { return c; }
  static F f16(const uint16_t* p) {
    return each<F>([&](int i) { return f16_to_f32(p[i]); });
  }
  static F u8(const uint8_t* p) {
    return each<F>([&](int i) { return p[i]; });
  }
  static void madd(I& c, I a, I b) {
    c = each<I>([&](int i) {
      const auto x = std::bit_cast<std::array<int16_t, 2>>(a.lane[i]);
      const auto y = std::bit_cast<std::array<int16_t, 2>>(b.lane[i]);
      return c.lane[i] + int32_t{x[0]} * y[0] + int32_t{x[1]} * y[1];
    });
  }
};

template <int kCount, int kMostRows>
struct ModelOfBytes : GroupScales<Model<kCount, kMostRows>> {
  using Base = Model<kCount, kMostRows>;
  using I = typename Base::I;
  using X = int8_t;
  static constexpr int kPairs = 2, kOffset = 128;
  static constexpr bool kReady = true;
  static I pairs(const uint8_t* p) {
    return Base::template each<I>([&](int i) {
      const uint8_t* q = p + 32;
      const std::array<uint8_t, 4> four = {p[2 * i], p[2 * i + 1], q[2 * i], q[2 * i + 1]};
      return std::bit_cast<int32_t>(four) ^ static_cast<int32_t>(0x80808080);
    });
  }
  static I set1_pair(const int8_t* p) {
    int32_t four;
    std::memcpy(&four, p, 4);
    return Base::set1_i(four);
  }
  static void madd(I& c, I a, I b) {
    c = Base::template each<I>([&](int i) {
      const auto x = std::bit_cast<std::array<int8_t, 4>>(a.lane[i]);
      const auto y = std::bit_cast<std::array<uint8_t, 4>>(b.lane[i]);
      int32_t sum = c.lane[i];
      for (int j = 0; j < 4; ++j) sum += int32_t{x[j]} * y[j];
      return sum;
    });
  }
};

/// Models vpdpbf16ps as its manual specifies it, except that denormal numbers are kept.
struct ModelOfDots : Model<16, 8> {
  using X = uint16_t;
  using W = uint16_t;
  struct Factor {
    uint16_t lane[16][2];
  };
  static constexpr int kTileRows = 8, kStep = 2, kProducts = 1;
  static void weights(const W* b, int, Factor (&w)[1]) { std::memcpy(&w[0], b, sizeof(Factor)); }
  static Factor number(const X* x, int) {
    Factor all;
    for (auto& lane : all.lane) std::copy_n(x, 2, lane);
    return all;
  }
  static F dot(const Factor& x, const Factor& w, F c) {
    return each<F>([&](int i) {
      const auto product = [&](int j, float sum) {
        return std::fma(bf16_to_f32(x.lane[i][j]), bf16_to_f32(w.lane[i][j]), sum);
      };
      return product(0, product(1, c.lane[i]));
    });
  }
};

/// The vector functions that the products with tiles need, in scalar code.
struct ModelForTiles : Model<16, 8> {
  static void quads(const uint8_t* pairs, uint8_t* to) {
    for (int o = 0; o < 16; ++o) {
      std::memcpy(to + 4 * o, pairs + 2 * o, 2);
      std::memcpy(to + 4 * o + 2, pairs + 32 + 2 * o, 2);
    }
  }
  static void planes(int16_t* words) {
    int16_t whole[64];
    std::copy_n(words, 64, whole);
    auto* bytes = reinterpret_cast<uint8_t*>(words);
    for (int i = 0; i < 64; ++i) {
      bytes[i] = static_cast<uint8_t>(whole[i] & 255);
      bytes[64 + i] = static_cast<uint8_t>(whole[i] >> 8 & 255);
    }
  }
  static I join(I low, I high) {
    return each<I>([&](int i) { return low.lane[i] + 256 * high.lane[i]; });
  }
};

inline GemmKernels model_of_amx() {
  GemmKernels model = gemm_kernels_portable();
  model.products_bf16a16 = products_bf16_tiles<ModelOfTiles>;
  model.products_q8 = products_q8_tiles<ModelForTiles, ModelOfTiles>;
  model.products_q8a8 = products_by_group<ByteTiles<ModelForTiles>, ModelOfTiles>;
  model.products_q4 = products_by_group<NibbleTiles<ModelForTiles>, ModelOfTiles>;
  model.quantize = quantize_planes<ModelForTiles>;
  model.quantize_groups = quantize_groups<ModelOfBytes<16, 8>>;
  model.quantize_q4 = quantize_q4<Model<16, 8>>;
  model.rounded_bytes = sizeof(uint16_t);
  model.round = [](const float* x, int64_t count, void* to) {
    for (int64_t i = 0; i < count; ++i) static_cast<uint16_t*>(to)[i] = f32_to_bf16(x[i]);
  };
  return model;
}

/// Computes the sums of all panels, [panels][rows][16].
inline std::vector<float> products(const GemmKernels& kernels, const PackedMatrix& m,
                                   const View& x) {
  const GemmProducts run = m.type == WeightType::kQ8        ? kernels.products_q8
                           : m.type == WeightType::kQ8A8    ? kernels.products_q8a8
                           : m.type == WeightType::kQ4      ? kernels.products_q4
                           : m.type == WeightType::kBF16A16 ? kernels.products_bf16a16
                                                            : kernels.products;
  const bool rounded = m.type == WeightType::kBF16A16;
  const int64_t n = x.shape[0];
  const int64_t row_bytes =
      rounded ? m.k * kernels.rounded_bytes : gemm_group_row_bytes(m.padded_k());
  GemmWeights w;
  w.data = static_cast<const uint8_t*>(m.data.view().data);
  w.type = static_cast<int>(m.type);
  w.panels = m.panels();
  w.panel_bytes = m.panel_bytes();
  w.padded_k = m.padded_k();
  w.span_len = m.k;
  std::vector<uint8_t> q(static_cast<size_t>(n * row_bytes));
  GemmRows rows;
  rows.count = static_cast<int>(n);
  for (int64_t r = 0; r < n; ++r) {
    const float* from = x.f32() + r * m.k;
    uint8_t* to = q.data() + r * row_bytes;
    rows.x[r] = rounded || is_quantized(m.type) ? static_cast<const void*>(to) : from;
    if (rounded) {
      kernels.round(from, m.k, to);
    } else if (m.type == WeightType::kQ8) {
      rows.scale[r] = kernels.quantize(from, m.k, m.padded_k(), reinterpret_cast<int16_t*>(to));
    } else if (m.type == WeightType::kQ8A8) {
      kernels.quantize_groups(from, m.k, m.padded_k(), to);
    } else if (m.type == WeightType::kQ4) {
      kernels.quantize_q4(from, m.k, m.padded_k(), to);
    }
  }
  std::vector<float> sums(static_cast<size_t>(m.panels() * n * 16));
  for (int64_t p = 0; p < m.panels(); p += 4) {
    const int count = static_cast<int>(std::min<int64_t>(4, m.panels() - p));
    run(w, rows, p, count, sums.data() + p * n * 16);
  }
  return sums;
}

}  // namespace syrinx::cpu::gemm_models
