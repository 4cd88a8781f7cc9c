// Compiled for AMX (TILE, INT8, BF16) and for the sets of gemm_avx512vnni.cc and
// gemm_avx512bf16.cc. Called only if the processor has AMX and the kernel lets this process use it.
#include "kernels/cpu/gemm_amx_impl.h"
#include "kernels/cpu/gemm_avx512.h"

namespace syrinx::cpu {
namespace {

/// The tile registers of this thread. Written as assembly, as GCC's intrinsics need literal
/// register numbers. Released at the end, so that a waiting thread saves no tiles.
class Tiles {
 public:
  explicit Tiles(const TileConfig& config) { asm volatile("ldtilecfg %0" ::"m"(config)); }
  ~Tiles() { asm volatile("tilerelease" ::: "memory"); }
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;

  template <int kTile>
  void zero() {
    asm volatile("tilezero %%tmm%c0" ::"i"(kTile));
  }
  template <int kTile>
  void load(const void* from, int64_t step) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(step), "i"(kTile) : "memory");
  }
  template <int kTile>
  void store(void* to, int64_t step) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(step), "i"(kTile) : "memory");
  }
  template <int kSum, int kRow, int kWeight>
  void dot_bytes() {
    asm volatile("tdpbssd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSum), "i"(kRow), "i"(kWeight));
  }
  template <int kSum, int kRow, int kWeight>
  void dot_unsigned() {
    asm volatile("tdpbusd %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSum), "i"(kRow), "i"(kWeight));
  }
  template <int kSum, int kRow, int kWeight>
  void dot_bf16() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kSum), "i"(kRow), "i"(kWeight));
  }
};

struct Vectors : Avx512 {
  static void quads(const uint8_t* pairs, uint8_t* to) {
    alignas(64) static constexpr uint16_t kOrder[32] = {0,  16, 1,  17, 2,  18, 3,  19, 4,  20, 5,
                                                        21, 6,  22, 7,  23, 8,  24, 9,  25, 10, 26,
                                                        11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
    const I two = _mm512_loadu_si512(pairs);
    _mm512_store_si512(to, _mm512_permutexvar_epi16(_mm512_load_si512(kOrder), two));
  }
  static void planes(int16_t* words) {
    const I first = _mm512_loadu_si512(words), second = _mm512_loadu_si512(words + 32);
    const auto bytes = [](I a, I b) {
      return _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi16_epi8(a)),
                                _mm512_cvtepi16_epi8(b), 1);
    };
    _mm512_storeu_si512(words, bytes(first, second));
    _mm512_storeu_si512(words + 32,
                        bytes(_mm512_srli_epi16(first, 8), _mm512_srli_epi16(second, 8)));
  }
  static I join(I low, I high) { return _mm512_add_epi32(low, _mm512_slli_epi32(high, 8)); }
};

}  // namespace

void use_amx(GemmKernels& few, GemmKernels& many) {
  few.products_bf16a16 = many.products_bf16a16 = products_bf16_tiles<Tiles>;
  many.products_q8 = products_q8_tiles<Vectors, Tiles>;
  many.products_q8a8 = products_by_group<ByteTiles<Vectors>, Tiles>;
  many.products_q4 = products_by_group<NibbleTiles<Vectors>, Tiles>;
  many.quantize = quantize_planes<Vectors>;
}

}  // namespace syrinx::cpu
