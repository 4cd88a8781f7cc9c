// The products with AMX tiles, which replace those of gemm_impl.h. Written once for T, the tile
// registers, and V, vectors of 16 lanes. gemm_amx.cc has the real T, tile_model.h a model in C++.
//
// T is constructed from a TileConfig; its destructor releases the registers. It has, with tile
// numbers as template arguments: zero<t>, load<t>(from, step) and store<t>(to, step) (rows `step`
// bytes apart), dot_bytes<c, a, b> (tdpbssd), dot_unsigned<c, a, b> (tdpbusd: a is unsigned),
// dot_bf16<c, a, b>. V has, in addition to the functions that gemm_impl.h lists: quads (64 bytes:
// 16 outputs' weights of k 0 and 1, then of k 2 and 3 -> each output's four weights), planes (64
// int16, in place -> their low bytes, then their high ones), join (I low + 256 high).
//
// A tile multiplies up to 16 rows of activations with one panel. Rows are independent, so a row's
// bits are the same in a tile of any height. With 8-bit and 4-bit weights, sums are exact within a
// group and later steps are the same as on other instruction sets, so the bits are the same, too.
// Sums of bf16 have their own order, see BF16Tiles.
#pragma once

#include <cstdint>

#include "kernels/cpu/gemm_impl.h"

namespace syrinx::cpu {

constexpr int kTileHeight = 16, kTileBytes = 64;  // rows of a tile, bytes of a row

/// Configuration in the format of LDTILECFG.
struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

// Numbers of the tile registers. Operands with as many rows as a tile have two registers: one for
// the higher tiles of a block, and one for tiles with one row less (tile_rows()).
constexpr int kSumTile = 0, kRowTile = 4, kWeightTile = 6;

/// Configures registers 0, 1 and 4 for the higher tiles, 2, 3 and 5 for the lower ones, 6 and 7 for
/// weights. `k_bytes`: bytes of a row of activations per product.
static inline TileConfig tile_config(int rows, int k_bytes) {
  TileConfig config;
  const int high = tile_rows(rows, 0, kTileHeight), low = tile_rows(rows, rows - 1, kTileHeight);
  for (int t = 0; t < 8; ++t) {
    const bool sums = t < kRowTile, weights = t >= kWeightTile;
    const bool lower = sums ? t >= 2 : t == kRowTile + 1;
    config.row_bytes[t] = static_cast<uint16_t>(sums || weights ? kTileBytes : k_bytes);
    config.rows[t] = static_cast<uint8_t>(weights ? k_bytes / 4 : lower ? low : high);
  }
  return config;
}

/// One group of k for one tile of rows.
struct TileGroup {
  const GemmRows* rows;
  int first, count;  // first row of the tile, and number of rows
  int64_t step;      // distance between rows in bytes
  int64_t group;     // index of the group
  int64_t padded_k;
  const uint8_t* bytes;   // weights, unfolded to a tile
  const uint8_t* scales;  // scales of the group in the panel
  float* sums;            // [count][16]
  bool begins;            // whether this is the first group: sums are not yet set

  const uint8_t* row(int r) const { return static_cast<const uint8_t*>(rows->x[first + r]); }
};

/// Products of int8 weights and int8 activations, see GroupScales.
template <class V>
struct ByteTiles {
  using F = typename V::F;
  static constexpr int kCount = 64, kBytes = 64;  // values of k per group; bytes per row and group
  static void unfold(const uint8_t* panel, int64_t, int64_t group, uint8_t* to) {
    const uint8_t* from = panel + group * (kPanel * kGroup + kPanel * 2);
    for (int i = 0; i < kTileHeight; ++i) V::quads(from + i * kTileBytes, to + i * kTileBytes);
  }
  static const uint8_t* scales(const uint8_t* panel, int64_t, int64_t group) {
    return panel + group * (kPanel * kGroup + kPanel * 2) + kPanel * kGroup;
  }
  template <int kLower, class T>
  static void add(T& tiles, const TileGroup& at) {
    constexpr int kSums = kSumTile + 2 * kLower, kRow = kRowTile + kLower;
    alignas(64) int32_t exact[kTileHeight][kPanel];
    tiles.template load<kWeightTile>(at.bytes, kTileBytes);
    tiles.template zero<kSums>();
    tiles.template load<kRow>(at.row(0) + at.group * kBytes, at.step);
    tiles.template dot_bytes<kSums, kRow, kWeightTile>();
    tiles.template store<kSums>(exact, kTileBytes);
    F scale[1];
    V::widen(reinterpret_cast<const uint16_t*>(at.scales), scale);
    for (int r = 0; r < at.count; ++r) {
      typename V::I sum;
      __builtin_memcpy(&sum, exact[r], sizeof sum);
      const auto* group = reinterpret_cast<const GemmGroup*>(at.row(r) + at.padded_k) + at.group;
      float* to = at.sums + r * kPanel;
      const F before = at.begins ? V::set1(0.0f) : V::load(to);
      V::store(to, V::fma(V::to_f(sum), V::mul(scale[0], V::set1(group->scale)), before));
    }
  }
};

/// Products of int8 weights and int16 activations in the layout of quantize_planes. The low bytes
/// (unsigned) and the high bytes of the activations have separate products.
template <class V>
struct WordTiles : ByteTiles<V> {
  using F = typename V::F;
  static constexpr int kBytes = 128;
  template <int kLower, class T>
  static void add(T& tiles, const TileGroup& at) {
    constexpr int kLow = kSumTile + 2 * kLower, kHigh = kLow + 1, kRow = kRowTile + kLower;
    alignas(64) int32_t low[kTileHeight][kPanel], high[kTileHeight][kPanel];
    tiles.template load<kWeightTile>(at.bytes, kTileBytes);
    tiles.template zero<kLow>();
    tiles.template load<kRow>(at.row(0) + at.group * kBytes, at.step);
    tiles.template dot_unsigned<kLow, kRow, kWeightTile>();
    tiles.template store<kLow>(low, kTileBytes);
    tiles.template zero<kHigh>();
    tiles.template load<kRow>(at.row(0) + at.group * kBytes + kGroup, at.step);
    tiles.template dot_bytes<kHigh, kRow, kWeightTile>();
    tiles.template store<kHigh>(high, kTileBytes);
    F scale[1];
    V::widen(reinterpret_cast<const uint16_t*>(at.scales), scale);
    for (int r = 0; r < at.count; ++r) {
      typename V::I lows, highs;
      __builtin_memcpy(&lows, low[r], sizeof lows);
      __builtin_memcpy(&highs, high[r], sizeof highs);
      float* to = at.sums + r * kPanel;
      const F before = at.begins ? V::set1(0.0f) : V::load(to);
      V::store(to, V::fma(V::to_f(V::join(lows, highs)), scale[0], before));
    }
  }
};

/// Products of 4-bit weights, see tile_q4.
template <class V>
struct NibbleTiles {
  using F = typename V::F;
  static constexpr int kCount = 32, kBytes = 32;
  static void unfold(const uint8_t* panel, int64_t, int64_t group, uint8_t* to) {
    for (int i = 0; i < kBlocksQ4; ++i) {
      typename V::I low, high;
      V::nibbles(panel + group * kGroupBytesQ4 + i * kBlockBytesQ4, low, high);
      __builtin_memcpy(to + 2 * i * kTileBytes, &low, sizeof low);
      __builtin_memcpy(to + (2 * i + 1) * kTileBytes, &high, sizeof high);
    }
  }
  static const uint8_t* scales(const uint8_t* panel, int64_t padded_k, int64_t group) {
    return panel + padded_k / 2 * kPanel + group * kScaleBytesQ4;
  }
  template <int kLower, class T>
  static void add(T& tiles, const TileGroup& at) {
    constexpr int kSums = kSumTile + 2 * kLower, kRow = kRowTile + kLower;
    alignas(64) int32_t exact[kTileHeight][kPanel];
    tiles.template load<kWeightTile>(at.bytes, kTileBytes);
    tiles.template zero<kSums>();
    tiles.template load<kRow>(at.row(0) + at.group * kBytes, at.step);
    tiles.template dot_bytes<kSums, kRow, kWeightTile>();
    tiles.template store<kSums>(exact, kTileBytes);
    const F scale = V::f16(reinterpret_cast<const uint16_t*>(at.scales));
    const F zero = V::mul(V::u8(at.scales + 2 * kPanel), V::set1(-0.125f));
    for (int r = 0; r < at.count; ++r) {
      typename V::I sum;
      __builtin_memcpy(&sum, exact[r], sizeof sum);
      const auto* group = reinterpret_cast<const GemmGroupQ4*>(at.row(r) + at.padded_k) + at.group;
      float* to = at.sums + r * kPanel;
      const F before = at.begins ? V::set1(0.0f) : V::load(to);
      const F whole = V::fma(zero, V::set1(group->sum), V::to_f(sum));
      V::store(to, V::fma(whole, V::mul(scale, V::set1(group->scale)), before));
    }
  }
};

/// GemmProducts for weights of 8 and 4 bits. K is one of the three classes above.
template <class K, class T>
void products_by_group(const GemmWeights& w, const GemmRows& rows, int64_t panel, int count,
                       float* sums) {
  // Number of groups whose unfolded weights stay in L1 while all rows are processed.
  constexpr int kBlock = 8;
  constexpr int kTakes = K::kCount;  // bytes of a row that one product reads
  T tiles(tile_config(rows.count, kTakes));
  const int high = tile_rows(rows.count, 0, kTileHeight);
  const int64_t groups = w.padded_k / K::kCount;
  alignas(64) uint8_t bytes[kBlock][kTakes / 4 * kTileBytes];
  TileGroup at;
  at.rows = &rows;
  at.padded_k = w.padded_k;
  // Quantised rows follow each other in memory, at a constant distance.
  at.step = rows.count > 1
                ? static_cast<const uint8_t*>(rows.x[1]) - static_cast<const uint8_t*>(rows.x[0])
                : kTileBytes;
  for (int p = 0; p < count; ++p) {
    const uint8_t* b = w.data + (panel + p) * w.panel_bytes;
    for (int64_t g = 0; g < groups; g += kBlock) {
      const int64_t size = g + kBlock < groups ? kBlock : groups - g;
      for (int64_t i = 0; i < size; ++i) K::unfold(b, w.padded_k, g + i, bytes[i]);
      for (at.first = 0; at.first < rows.count; at.first += at.count) {
        at.count = tile_rows(rows.count, at.first, kTileHeight);
        at.sums = sums + (int64_t{p} * rows.count + at.first) * kPanel;
        for (int64_t i = 0; i < size; ++i) {
          at.group = g + i;
          at.begins = at.group == 0;
          at.bytes = bytes[i];
          at.scales = K::scales(b, w.padded_k, at.group);
          if (at.count == high) {
            K::template add<0>(tiles, at);
          } else {
            K::template add<1>(tiles, at);
          }
        }
      }
    }
  }
}

/// GemmProducts for q8. Its rows of activations have one scale each.
template <class V, class T>
void products_q8_tiles(const GemmWeights& w, const GemmRows& rows, int64_t panel, int count,
                       float* sums) {
  products_by_group<WordTiles<V>, T>(w, rows, panel, count, sums);
  for (int r = 0; r < rows.count; ++r) {
    const typename V::F scale = V::set1(rows.scale[r]);
    for (int p = 0; p < count; ++p) {
      float* to = sums + (int64_t{p} * rows.count + r) * kPanel;
      V::store(to, V::mul(V::load(to), scale));
    }
  }
}

/// GemmQuantize for products_q8_tiles. Replaces each 64 int16 by their 64 low bytes, followed by
/// their 64 high bytes.
template <class V>
float quantize_planes(const float* x, int64_t k, int64_t padded_k, int16_t* q) {
  const float scale = quantize<V>(x, k, padded_k, q);
  for (int64_t g = 0; g < padded_k; g += kGroup) V::planes(q + g);
  return scale;
}

/// GemmProducts of bf16 with bf16. From its beginning, a span is cut into stretches of 32 values of
/// k. In each stretch the products of even k and of odd k are summed separately, in order; both
/// sums are then added to the result of earlier stretches. Denormal numbers count as 0. The manual
/// of tdpbf16ps specifies this behaviour.
template <class T>
class BF16Tiles {
 public:
  BF16Tiles(const GemmWeights& w, const GemmRows& rows, float* sums)
      : tiles_(tile_config(rows.count, kTileBytes)), w_(w), rows_(rows), sums_(sums) {}

  /// Processes one or two panels (`count`) from `b` on; `p` is the first panel's index in the sums.
  void run(const uint8_t* b, int p, int count) {
    constexpr int kBlock = 8;  // stretches whose weights stay in L1 while all rows are processed
    const int64_t stretches = w_.spans * in_span();
    const int high = tile_rows(rows_.count, 0, kTileHeight);
    for (int64_t begin = 0; begin < stretches; begin += kBlock) {
      const int64_t end = begin + kBlock < stretches ? begin + kBlock : stretches;
      for (int r = 0, n = 0; r < rows_.count; r += n) {
        n = tile_rows(rows_.count, r, kTileHeight);
        float* to = sums_ + (int64_t{p} * rows_.count + r) * kPanel;
        if (n == high) {
          add<0>(b, count, r, n, begin, end, to);
        } else {
          add<1>(b, count, r, n, begin, end, to);
        }
      }
    }
  }

 private:
  static constexpr int kStretch = kTileBytes / 2;

  int64_t in_span() const { return (w_.span_len + kStretch - 1) / kStretch; }

  /// Adds the products of stretches [begin, end) for rows [r, r + n).
  template <int kLower>
  void add(const uint8_t* b, int count, int r, int n, int64_t begin, int64_t end, float* to) {
    constexpr int kFirst = kSumTile + 2 * kLower, kSecond = kFirst + 1, kRow = kRowTile + kLower;
    const bool two = count == 2;
    const int64_t step = step_of(r, n);
    float* to_second = to + int64_t{rows_.count} * kPanel;
    if (begin == 0) {
      tiles_.template zero<kFirst>();
      tiles_.template zero<kSecond>();
    } else {
      tiles_.template load<kFirst>(to, kTileBytes);
      if (two) tiles_.template load<kSecond>(to_second, kTileBytes);
    }
    for (int64_t i = begin; i < end; ++i) {
      const int64_t span = i / in_span(), k = i % in_span() * kStretch;
      const int64_t width = w_.span_len - k < kStretch ? w_.span_len - k : kStretch;
      const uint8_t* at = b + (span * w_.span_len + k) * kPanel * 2;
      load_rows<kRow>(r, n, step, (span * w_.span_step + k) * 2, width * 2);
      load_weights<kWeightTile>(at, width);
      tiles_.template dot_bf16<kFirst, kRow, kWeightTile>();
      if (!two) continue;
      load_weights<kWeightTile + 1>(at + w_.panel_bytes, width);
      tiles_.template dot_bf16<kSecond, kRow, kWeightTile + 1>();
    }
    tiles_.template store<kFirst>(to, kTileBytes);
    if (two) tiles_.template store<kSecond>(to_second, kTileBytes);
  }

  const uint8_t* row(int r) const { return static_cast<const uint8_t*>(rows_.x[r]); }

  /// Returns the distance in bytes between rows [first, first + n); 0 if it is not constant.
  int64_t step_of(int first, int n) const {
    const int64_t step = n > 1 ? row(first + 1) - row(first) : kTileBytes;
    for (int r = first + 2; r < first + n; ++r) {
      if (row(r) - row(r - 1) != step) return 0;
    }
    return step;
  }

  /// Loads bytes [offset, offset + bytes) of rows that are `step` bytes apart. Fills an incomplete
  /// stretch with zeros.
  template <int kTile>
  void load_rows(int first, int n, int64_t step, int64_t offset, int64_t bytes) {
    if (step && bytes == kTileBytes) {
      return tiles_.template load<kTile>(row(first) + offset, step);
    }
    alignas(64) uint8_t copy[kTileHeight][kTileBytes] = {};
    for (int r = 0; r < n; ++r) {
      for (int64_t i = 0; i < bytes; ++i) copy[r][i] = row(first + r)[offset + i];
    }
    tiles_.template load<kTile>(copy, kTileBytes);
  }

  template <int kTile>
  void load_weights(const uint8_t* from, int64_t k) {
    if (k == kStretch) return tiles_.template load<kTile>(from, kTileBytes);
    alignas(64) uint8_t copy[kTileHeight * kTileBytes] = {};
    for (int64_t i = 0; i < k / 2 * kTileBytes; ++i) copy[i] = from[i];
    tiles_.template load<kTile>(copy, kTileBytes);
  }

  T tiles_;
  const GemmWeights& w_;
  const GemmRows& rows_;
  float* sums_;
};

template <class T>
void products_bf16_tiles(const GemmWeights& w, const GemmRows& rows, int64_t panel, int count,
                         float* sums) {
  BF16Tiles<T> tiles(w, rows, sums);
  for (int p = 0; p < count; p += 2) {
    tiles.run(w.data + (panel + p) * w.panel_bytes, p, p + 1 < count ? 2 : 1);
  }
}

}  // namespace syrinx::cpu
