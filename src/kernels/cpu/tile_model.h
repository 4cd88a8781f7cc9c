// The tile registers of AMX in scalar code, as specified in Intel's manual: a T of gemm_amx_impl.h
// for processors without AMX. Operands that a processor would refuse (shapes that do not match, a
// tile without configuration) fail a check. Only included by tests.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "base/float16.h"
#include "kernels/cpu/gemm_amx_impl.h"

namespace syrinx::cpu {

/// Replaces denormal numbers by 0, as AMX does before and after each operation.
inline float flushed(float v) {
  return std::fpclassify(v) == FP_SUBNORMAL ? std::copysign(0.f, v) : v;
}

class TileRegisters {
 public:
  void configure(const TileConfig& config) {
    SYRINX_CHECK(config.palette == 1 && config.start_row == 0,
                 "the palette must be 1 and start_row 0, got palette ", int{config.palette});
    for (int t = 0; t < 16; ++t) {
      SYRINX_CHECK((config.rows[t] == 0) == (config.row_bytes[t] == 0) && config.rows[t] <= 16 &&
                       config.row_bytes[t] <= 64 && (t < 8 || config.rows[t] == 0),
                   "invalid size of tile ", t, ": ", int{config.rows[t]}, " rows");
    }
    config_ = config;
    for (auto& tile : tiles_) tile = {};
  }
  void release() { config_ = {.palette = 0}; }

  void zero(int t) {
    check(t);
    tiles_[t] = {};
  }
  void load(int t, const void* from, int64_t step) {
    zero(t);
    for (int r = 0; r < config_.rows[t]; ++r) {
      std::memcpy(tiles_[t][r].data(), static_cast<const char*>(from) + r * step,
                  config_.row_bytes[t]);
    }
  }
  void store(int t, void* to, int64_t step) const {
    check(t);
    for (int r = 0; r < config_.rows[t]; ++r) {
      std::memcpy(static_cast<char*>(to) + r * step, tiles_[t][r].data(), config_.row_bytes[t]);
    }
  }
  /// Computes sums += rows * weights. With `bare`, the bytes of rows are unsigned.
  void dot_bytes(int sums, int rows, int weights, bool bare) {
    check_product(sums, rows, weights);
    for (int m = 0; m < config_.rows[sums]; ++m) {
      for (int n = 0; n < config_.row_bytes[sums] / 4; ++n) {
        auto sum = number<int32_t>(sums, m, n);
        for (int k = 0; k < config_.row_bytes[rows]; ++k) {
          const auto x = number<uint8_t>(rows, m, k);
          const auto w = number<int8_t>(weights, k / 4, n * 4 + k % 4);
          sum += (bare ? int32_t{x} : int32_t{static_cast<int8_t>(x)}) * w;
        }
        put(sums, m, n, sum);
      }
    }
  }
  void dot_bf16(int sums, int rows, int weights) {
    check_product(sums, rows, weights);
    for (int m = 0; m < config_.rows[sums]; ++m) {
      for (int n = 0; n < config_.row_bytes[sums] / 4; ++n) {
        std::array<float, 2> apart = {0, 0};  // even k, odd k
        for (int k = 0; k < config_.row_bytes[rows] / 2; ++k) {
          const float x = bf16_to_f32(number<uint16_t>(rows, m, k));
          const float w = bf16_to_f32(number<uint16_t>(weights, k / 2, n * 2 + k % 2));
          apart[k % 2] = flushed(std::fma(flushed(x), flushed(w), apart[k % 2]));
        }
        const float sum = flushed(number<float>(sums, m, n));
        put(sums, m, n, flushed(sum + flushed(apart[0] + apart[1])));
      }
    }
  }

 private:
  template <class N>
  N number(int t, int row, int at) const {
    N value;
    std::memcpy(&value, tiles_[t][row].data() + static_cast<size_t>(at) * sizeof value,
                sizeof value);
    return value;
  }
  template <class N>
  void put(int t, int row, int at, N value) {
    std::memcpy(tiles_[t][row].data() + static_cast<size_t>(at) * sizeof value, &value,
                sizeof value);
  }
  void check(int t) const {
    SYRINX_CHECK(config_.palette == 1 && t < 8 && config_.rows[t] > 0, "tile ", t,
                 " is not configured");
  }
  void check_product(int sums, int rows, int weights) const {
    for (const int t : {sums, rows, weights}) check(t);
    SYRINX_CHECK(sums != rows && rows != weights && sums != weights &&
                     config_.rows[sums] == config_.rows[rows] &&
                     config_.row_bytes[sums] == config_.row_bytes[weights] &&
                     config_.row_bytes[rows] == 4 * config_.rows[weights],
                 "tiles ", sums, ", ", rows, " and ", weights, " do not fit");
  }

  TileConfig config_ = {.palette = 0};
  std::array<std::array<std::array<uint8_t, 64>, 16>, 8> tiles_ = {};
};

class ModelOfTiles {
 public:
  explicit ModelOfTiles(const TileConfig& config) { registers_.configure(config); }
  template <int kTile>
  void zero() {
    registers_.zero(kTile);
  }
  template <int kTile>
  void load(const void* from, int64_t step) {
    registers_.load(kTile, from, step);
  }
  template <int kTile>
  void store(void* to, int64_t step) const {
    registers_.store(kTile, to, step);
  }
  template <int kSum, int kRow, int kWeight>
  void dot_bytes() {
    registers_.dot_bytes(kSum, kRow, kWeight, false);
  }
  template <int kSum, int kRow, int kWeight>
  void dot_unsigned() {
    registers_.dot_bytes(kSum, kRow, kWeight, true);
  }
  template <int kSum, int kRow, int kWeight>
  void dot_bf16() {
    registers_.dot_bf16(kSum, kRow, kWeight);
  }

 private:
  TileRegisters registers_;
};

}  // namespace syrinx::cpu
