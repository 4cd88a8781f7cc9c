#include "io/ggml_types.h"

#include <cstring>
#include <initializer_list>

#include "base/float16.h"

namespace syrinx {
namespace {

constexpr int64_t kSmall = 32, kSuper = 256;  // numbers per block

float half_at(const uint8_t* from) {
  uint16_t bits;
  std::memcpy(&bits, from, sizeof bits);
  return f16_to_f32(bits);
}

/// Unpacks blocks of 32 numbers: numbers i and i + 16 share a byte; the fifth bits are in one word.
/// Q4_0, Q5_0: (number - middle) * scale. Q4_1, Q5_1: number * scale + minimum.
template <bool kFive, bool kMinimum>
void unpack_small(const uint8_t* from, float* to) {
  const float scale = half_at(from);
  const float minimum = kMinimum ? half_at(from + 2) : 0;
  from += kMinimum ? 4 : 2;
  uint32_t fifth = 0;
  if (kFive) {
    std::memcpy(&fifth, from, sizeof fifth);
    from += sizeof fifth;
  }
  constexpr int kMiddle = kMinimum ? 0 : (kFive ? 16 : 8);
  for (int i = 0; i < 16; ++i) {
    const int low = (from[i] & 15) | static_cast<int>(fifth >> i & 1) << 4;
    const int high = (from[i] >> 4) | static_cast<int>(fifth >> (i + 16) & 1) << 4;
    to[i] = static_cast<float>(low - kMiddle) * scale + minimum;
    to[i + 16] = static_cast<float>(high - kMiddle) * scale + minimum;
  }
}

void unpack_q8_0(const uint8_t* from, float* to) {
  const float scale = half_at(from);
  for (int i = 0; i < kSmall; ++i)
    to[i] = static_cast<float>(static_cast<int8_t>(from[2 + i])) * scale;
}

/// Scale and minimum of group j of 8 groups, with six bits each, in the 12 bytes of Q4_K and Q5_K.
struct SixBits {
  int scale, minimum;
};
SixBits six_bits(const uint8_t* q, int j) {
  if (j < 4) return {q[j] & 63, q[j + 4] & 63};
  return {(q[j + 4] & 15) | (q[j - 4] >> 6) << 4, (q[j + 4] >> 4) | (q[j] >> 6) << 4};
}

template <bool kFive>
void unpack_q4_k_or_q5_k(const uint8_t* from, float* to) {
  const float scale = half_at(from), minimum = half_at(from + 2);
  const uint8_t* scales = from + 4;
  const uint8_t* fifth = scales + 12;
  const uint8_t* low = fifth + (kFive ? 32 : 0);
  for (int pair = 0; pair < 4; ++pair, low += 32) {
    for (const int high : {0, 1}) {
      const int group = 2 * pair + high;
      const SixBits s = six_bits(scales, group);
      const float d = scale * static_cast<float>(s.scale);
      const float m = minimum * static_cast<float>(s.minimum);
      for (int i = 0; i < 32; ++i) {
        const int top = kFive ? (fifth[i] >> group & 1) << 4 : 0;
        const int number = (high ? low[i] >> 4 : low[i] & 15) | top;
        *to++ = d * static_cast<float>(number) - m;
      }
    }
  }
}

void unpack_q6_k(const uint8_t* from, float* to) {
  const uint8_t *low = from, *high = from + 128;
  const auto* scales = reinterpret_cast<const int8_t*>(from + 192);
  const float d = half_at(from + 208);
  for (int half = 0; half < 2; ++half, low += 64, high += 32, scales += 8, to += 128) {
    for (int i = 0; i < 32; ++i) {
      const int numbers[] = {
          (low[i] & 15) | (high[i] & 3) << 4, (low[i + 32] & 15) | (high[i] >> 2 & 3) << 4,
          (low[i] >> 4) | (high[i] >> 4 & 3) << 4, (low[i + 32] >> 4) | (high[i] >> 6) << 4};
      for (int part = 0; part < 4; ++part) {
        const float scale = d * static_cast<float>(scales[i / 16 + 2 * part]);
        to[i + 32 * part] = scale * static_cast<float>(numbers[part] - 32);
      }
    }
  }
}

/// Unpacks Q2_K: 16 groups of 16 numbers; scale and minimum have four bits each.
void unpack_q2_k(const uint8_t* from, float* to) {
  const uint8_t *scales = from, *numbers = from + 16;
  const float d = half_at(from + 80), minimum = half_at(from + 82);
  for (int half = 0; half < 2; ++half, numbers += 32) {
    for (int shift = 0; shift < 8; shift += 2) {
      for (int part = 0; part < 2; ++part, ++scales) {
        const float scale = d * static_cast<float>(*scales & 15);
        const float least = minimum * static_cast<float>(*scales >> 4);
        for (int i = 0; i < 16; ++i)
          *to++ = scale * static_cast<float>(numbers[16 * part + i] >> shift & 3) - least;
      }
    }
  }
}

/// Unpacks Q3_K: 16 groups of 16 numbers; scales have six bits. If a number's third bit is not set,
/// 4 is subtracted.
void unpack_q3_k(const uint8_t* from, float* to) {
  const uint8_t *third = from, *numbers = from + 32, *packed = from + 96;
  const float d = half_at(from + 108);
  int8_t scales[16];
  for (int j = 0; j < 16; ++j) {
    const int low = j < 8 ? packed[j] & 15 : packed[j - 8] >> 4;
    scales[j] = static_cast<int8_t>((low | (packed[8 + j % 4] >> 2 * (j / 4) & 3) << 4) - 32);
  }
  int group = 0;
  for (int half = 0; half < 2; ++half, numbers += 32) {
    for (int shift = 0; shift < 8; shift += 2) {
      const int bit = 4 * half + shift / 2;
      for (int part = 0; part < 2; ++part, ++group) {
        const float scale = d * static_cast<float>(scales[group]);
        for (int i = 16 * part; i < 16 * (part + 1); ++i) {
          const int number = (numbers[i] >> shift & 3) - (third[i] >> bit & 1 ? 0 : 4);
          *to++ = scale * static_cast<float>(number);
        }
      }
    }
  }
}

/// The 16 values that a four-bit number selects in IQ4_NL and IQ4_XS.
constexpr float kUneven[] = {-127, -104, -83, -65, -49, -35, -22, -10,
                             1,    13,   25,  38,  53,  69,  89,  113};

/// Unpacks 32 numbers: numbers i and i + 16 share a byte.
void unpack_uneven(const uint8_t* from, float scale, float* to) {
  for (int i = 0; i < 16; ++i) {
    to[i] = scale * kUneven[from[i] & 15];
    to[i + 16] = scale * kUneven[from[i] >> 4];
  }
}

void unpack_iq4_nl(const uint8_t* from, float* to) { unpack_uneven(from + 2, half_at(from), to); }

/// Unpacks IQ4_XS: 8 groups of 32 numbers; the upper two bits of the six-bit scales are in one
/// word.
void unpack_iq4_xs(const uint8_t* from, float* to) {
  const float d = half_at(from);
  const uint8_t *low = from + 4, *numbers = from + 8;
  uint16_t high;
  std::memcpy(&high, from + 2, sizeof high);
  for (int group = 0; group < 8; ++group, numbers += 16, to += 32) {
    const int scale = (low[group / 2] >> 4 * (group % 2) & 15) | (high >> 2 * group & 3) << 4;
    unpack_uneven(numbers, d * static_cast<float>(scale - 32), to);
  }
}

constexpr GgmlType kGgmlTypes[] = {
    {0, "F32", 1, 4},
    {1, "F16", 1, 2},
    {30, "BF16", 1, 2},
    {2, "Q4_0", kSmall, 18, unpack_small<false, false>},
    {3, "Q4_1", kSmall, 20, unpack_small<false, true>},
    {6, "Q5_0", kSmall, 22, unpack_small<true, false>},
    {7, "Q5_1", kSmall, 24, unpack_small<true, true>},
    {8, "Q8_0", kSmall, 34, unpack_q8_0},
    {10, "Q2_K", kSuper, 84, unpack_q2_k},
    {11, "Q3_K", kSuper, 110, unpack_q3_k},
    {12, "Q4_K", kSuper, 144, unpack_q4_k_or_q5_k<false>},
    {13, "Q5_K", kSuper, 176, unpack_q4_k_or_q5_k<true>},
    {14, "Q6_K", kSuper, 210, unpack_q6_k},
    {20, "IQ4_NL", kSmall, 18, unpack_iq4_nl},
    {23, "IQ4_XS", kSuper, 136, unpack_iq4_xs},
};

}  // namespace

const GgmlType* ggml_type(uint32_t number) {
  for (const GgmlType& type : kGgmlTypes)
    if (type.number == number) return &type;
  return nullptr;
}

}  // namespace syrinx
