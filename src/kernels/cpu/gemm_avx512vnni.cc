// Compiled for AVX512-VNNI and for the sets of gemm_avx512.cc.
#include "kernels/cpu/gemm_avx512.h"

namespace syrinx::cpu {
namespace {

/// vpdpwssd adds products of pairs in one instruction. The sums are those of vpmaddwd and
/// vpaddd.
struct Words : RowScale<Avx512> {
  static void madd(I& c, I a, I b) { c = _mm512_dpwssd_epi32(c, a, b); }
};

/// vpdpbusd adds four products: unsigned bytes (stored weight + 128) times int8 activations.
struct Bytes : GroupScales<Avx512> {
  static constexpr int kPairs = 2, kOffset = 128;
  using X = int8_t;
  static constexpr bool kReady = true;
  // Written as assembly, like madd: with intrinsics, or if two sums begin as one value, GCC 12
  // copies the sums of a tile at every step.
  static void begin(I& c, const int32_t* start) {
    asm volatile("vpbroadcastd %1, %0" : "=v"(c) : "m"(*start));
  }
  /// Loads the weights of 16 outputs for four k; each output's four weights become adjacent bytes.
  static I pairs(const uint8_t* p) {
    alignas(64) static constexpr uint16_t kOrder[32] = {0,  32, 1,  33, 2,  34, 3,  35, 4,  36, 5,
                                                        37, 6,  38, 7,  39, 8,  40, 9,  41, 10, 42,
                                                        11, 43, 12, 44, 13, 45, 14, 46, 15, 47};
    // Loaded in two halves, because every second group crosses a cache line.
    const auto* pair = reinterpret_cast<const __m256i*>(p);
    const I four = _mm512_permutex2var_epi16(_mm512_castsi256_si512(_mm256_loadu_si256(pair)),
                                             _mm512_load_si512(kOrder),
                                             _mm512_castsi256_si512(_mm256_loadu_si256(pair + 1)));
    return _mm512_xor_si512(four, _mm512_set1_epi8(-128));
  }
  static I set1_pair(const int8_t* p) {
    int four;
    __builtin_memcpy(&four, p, 4);
    return _mm512_set1_epi32(four);
  }
  static void madd(I& c, I a, I b) { asm("vpdpbusd %2, %1, %0" : "+v"(c) : "v"(b), "v"(a)); }
};

/// vpdpbusd for 4-bit weights, which are stored unsigned.
struct Nibbles : Avx512 {
  static constexpr int kTileRows = 8;
  static I dot(I w, I x, I c) { return _mm512_dpbusd_epi32(c, w, x); }
  static I total(I c) { return c; }
};

}  // namespace

void use_avx512vnni(GemmKernels& kernels) {
  kernels.products_q8 = products_q8<Words>;
  kernels.products_q8a8 = products_q8<Bytes>;
  kernels.products_q4 = products_q4<Nibbles>;
  kernels.quantize_groups = quantize_groups<Bytes>;
}

}  // namespace syrinx::cpu
