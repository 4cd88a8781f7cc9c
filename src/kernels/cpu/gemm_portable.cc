// For processors without AVX2, and other architectures: plain loops that the compiler vectorises
// for the base instruction set. Products are not fused here.
#include "kernels/cpu/gemm_impl.h"

namespace syrinx::cpu {
namespace {

struct Portable {
  static constexpr int kLanes = 8;
  struct F {
    float v[8];
  };
  struct I {
    int32_t v[8];
  };
  template <class Op>
  static F each(Op op) {
    F out;
    for (int i = 0; i < 8; ++i) out.v[i] = op(i);
    return out;
  }
  static F load(const float* p) {
    return each([&](int i) { return p[i]; });
  }
  static void store(float* p, F v) {
    for (int i = 0; i < 8; ++i) p[i] = v.v[i];
  }
  static F load_bf16(const uint16_t* p) {
    return each([&](int i) {
      const uint32_t bits = uint32_t{p[i]} << 16;
      float value;
      __builtin_memcpy(&value, &bits, 4);
      return value;
    });
  }
  static F set1(float v) {
    return each([&](int) { return v; });
  }
  static F add(F a, F b) {
    return each([&](int i) { return a.v[i] + b.v[i]; });
  }
  static F mul(F a, F b) {
    return each([&](int i) { return a.v[i] * b.v[i]; });
  }
  static F div(F a, F b) {
    return each([&](int i) { return a.v[i] / b.v[i]; });
  }
  static F max(F a, F b) {
    return each([&](int i) { return a.v[i] > b.v[i] ? a.v[i] : b.v[i]; });
  }
  static F min(F a, F b) {
    return each([&](int i) { return a.v[i] < b.v[i] ? a.v[i] : b.v[i]; });
  }
  static F fma(F a, F b, F c) {
    return each([&](int i) { return a.v[i] * b.v[i] + c.v[i]; });
  }
  static F round(F v) {
    return each([&](int i) { return __builtin_nearbyintf(v.v[i]); });
  }
  static F pow2(F n) {
    return each([&](int i) {
      const uint32_t bits = static_cast<uint32_t>(static_cast<int>(n.v[i]) + 127) << 23;
      float value;
      __builtin_memcpy(&value, &bits, 4);
      return value;
    });
  }
  static I zero_i() { return I{}; }
  static I pairs(const uint8_t* p) {
    // Two int8 side by side as two int16 in one int32, as the vector units see them.
    I out;
    for (int i = 0; i < 8; ++i) {
      const int16_t both[2] = {static_cast<int8_t>(p[2 * i]), static_cast<int8_t>(p[2 * i + 1])};
      __builtin_memcpy(&out.v[i], both, 4);
    }
    return out;
  }
  static I set1_pair(const int16_t* p) {
    I out;
    for (int i = 0; i < 8; ++i) __builtin_memcpy(&out.v[i], p, 4);
    return out;
  }
  static I madd(I a, I b, I c) {
    for (int i = 0; i < 8; ++i) {
      int16_t x[2], y[2];
      __builtin_memcpy(x, &a.v[i], 4);
      __builtin_memcpy(y, &b.v[i], 4);
      c.v[i] += int32_t{x[0]} * y[0] + int32_t{x[1]} * y[1];
    }
    return c;
  }
  static F to_f(I v) {
    return each([&](int i) { return static_cast<float>(v.v[i]); });
  }
  static void store_i16(int16_t* p, F v) {
    for (int i = 0; i < 8; ++i) p[i] = static_cast<int16_t>(v.v[i]);
  }
};

}  // namespace

const GemmKernels& gemm_kernels_portable() { return kKernels<Portable>; }

}  // namespace syrinx::cpu
