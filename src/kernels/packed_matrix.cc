#include "kernels/packed_matrix.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/float16.h"
#include "kernels/cuda/matrix_layout.h"
#include "kernels/four_bits.h"
#include "kernels/packing.h"
#include "tensor/device.h"
#include "tensor/finite.h"

namespace syrinx {
namespace {

constexpr int64_t kPanel = PackedMatrix::kPanel, kGroup = PackedMatrix::kGroup;

/// Rounds a positive value up to bf16, so that value / scale stays within the int8 range.
uint16_t round_up_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0xffff) >> 16);
}

/// Returns the index of output o among the 16 bf16 of a panel: the halves of a 32-bit lane are
/// outputs i and i + 8.
int64_t interleaved(int64_t o) { return o % 8 * 2 + o / 8; }

void pack_q8_panel(const float* rows, int64_t padded_k, uint8_t* to) {
  // After adding this number, the low bits are the nearest integer, also in vectorised loops.
  constexpr float kRound = 12582912.0f;
  for (int64_t g = 0; g < padded_k / kGroup; ++g, to += PackedMatrix::kGroupBytes) {
    for (int64_t o = 0; o < kPanel; ++o) {
      const float* w = rows + o * padded_k + g * kGroup;
      uint32_t top_bits = 0;  // the bits of magnitudes have the order of the magnitudes
      for (int64_t i = 0; i < kGroup; ++i) {
        top_bits = std::max(top_bits, std::bit_cast<uint32_t>(w[i]) & 0x7fffffffu);
      }
      // Weights whose scale is too small for an inverse count as zero.
      constexpr float kSmallest = 1e-35f;
      const float top = std::bit_cast<float>(top_bits);
      const uint16_t scale = top < kSmallest ? 0 : round_up_bf16(top / 127.0f);
      std::memcpy(to + kPanel * kGroup + interleaved(o) * 2, &scale, 2);
      const float inverse = scale ? 1.0f / bf16_to_f32(scale) : 0.0f;
      uint8_t q[kGroup];
      for (int64_t i = 0; i < kGroup; ++i) {
        q[i] = static_cast<uint8_t>(std::bit_cast<uint32_t>(w[i] * inverse + kRound));
      }
      for (int64_t i = 0; i < kGroup; i += 2) std::memcpy(to + i * kPanel + o * 2, q + i, 2);
    }
  }
}

void pack_f32_panel(const float* rows, int64_t k, float* to) {
  for (int64_t i = 0; i < k; ++i) {
    for (int64_t o = 0; o < kPanel; ++o) to[i * kPanel + o] = rows[o * k + i];
  }
}

/// Packs rows [16][k] f32 into one bf16 panel; halves [16][k] is scratch.
void pack_bf16_panel(const float* rows, int64_t k, uint16_t* halves, uint16_t* to) {
  for (int64_t i = 0; i < kPanel * k; ++i) halves[i] = f32_to_bf16(rows[i]);
  for (int64_t i = 0; i < k; ++i) {
    for (int64_t o = 0; o < kPanel; ++o) to[i * kPanel + interleaved(o)] = halves[o * k + i];
  }
}

/// Packs rows [16][k] f32 into one panel of pairs of bf16.
void pack_pairs_panel(const float* rows, int64_t k, uint16_t* to) {
  for (int64_t i = 0; i < k; i += 2) {
    for (int64_t o = 0; o < kPanel; ++o) {
      *to++ = f32_to_bf16(rows[o * k + i]);
      *to++ = f32_to_bf16(rows[o * k + i + 1]);
    }
  }
}

/// Packs rows [16][padded_k] f32 into one panel of m; halves [16][k] is scratch for bf16.
void pack_panel(const PackedMatrix& m, const float* rows, uint16_t* halves, uint8_t* to) {
  switch (m.type) {
    case WeightType::kF32:
      return pack_f32_panel(rows, m.k, reinterpret_cast<float*>(to));
    case WeightType::kBF16:
      return pack_bf16_panel(rows, m.k, halves, reinterpret_cast<uint16_t*>(to));
    case WeightType::kBF16A16:
      return pack_pairs_panel(rows, m.k, reinterpret_cast<uint16_t*>(to));
    case WeightType::kQ8:
    case WeightType::kQ8A8:
      return pack_q8_panel(rows, m.padded_k(), to);
    case WeightType::kQ4:
      return FourBits::pack_panel(rows, m.padded_k(), to);
    case WeightType::kMixed:
      break;
  }
}

/// Unpacks a 4-bit panel to 16 rows of bf16. The rows are `stride` elements apart.
void unpack_q4_panel(const PackedMatrix& m, const uint8_t* from, int64_t stride, uint16_t* to) {
  for (int64_t o = 0; o < kPanel; ++o) {
    for (int64_t i = 0; i < m.k; ++i) {
      to[o * stride + i] = f32_to_bf16(FourBits::weight(from, m.padded_k(), o, i));
    }
  }
}

/// Unpacks one panel to 16 rows of `to`, `stride` elements apart. For q8, also unpacks the scales
/// to 16 rows of `scales`, stride / 64 elements apart.
void unpack_panel(const PackedMatrix& m, const uint8_t* from, int64_t stride, uint8_t* to,
                  uint16_t* scales) {
  for (int64_t o = 0; o < kPanel; ++o) {
    for (int64_t i = 0; i < m.k; ++i) {
      const int64_t at = o * stride + i;
      if (m.type == WeightType::kF32) {
        std::memcpy(to + 4 * at, from + 4 * (i * kPanel + o), 4);
      } else if (m.type == WeightType::kBF16) {
        std::memcpy(to + 2 * at, from + 2 * (i * kPanel + interleaved(o)), 2);
      } else if (m.type == WeightType::kBF16A16) {
        std::memcpy(to + 2 * at, from + 2 * (i / 2 * 2 * kPanel + o * 2 + i % 2), 2);
      } else {
        const uint8_t* group = from + i / kGroup * PackedMatrix::kGroupBytes;
        to[at] = group[i % kGroup / 2 * 2 * kPanel + o * 2 + i % 2];
        std::memcpy(scales + o * (stride / kGroup) + i / kGroup,
                    group + kPanel * kGroup + interleaved(o) * 2, 2);
      }
    }
  }
}

}  // namespace

const char* weight_type_name(WeightType type) {
  switch (type) {
    case WeightType::kF32:
      return "f32";
    case WeightType::kBF16:
      return "bf16";
    case WeightType::kBF16A16:
      return "bf16a16";
    case WeightType::kQ8:
      return "q8";
    case WeightType::kQ8A8:
      return "q8a8";
    case WeightType::kQ4:
      return "q4";
    case WeightType::kMixed:
      return "mixed";
  }
  return "?";
}

void copy_as_f32(const View& from, int64_t begin, int64_t count, float* to) {
  if (!all_finite(from, begin, count)) throw NotFinite();
  switch (from.dtype) {
    case DType::kF32:
      std::copy_n(from.f32() + begin, count, to);
      return;
    case DType::kBF16: {
      const uint16_t* source = from.bf16() + begin;
      for (int64_t i = 0; i < count; ++i) to[i] = bf16_to_f32(source[i]);
      return;
    }
    case DType::kF16: {
      const uint16_t* source = from.f16() + begin;
      for (int64_t i = 0; i < count; ++i) to[i] = f16_to_f32(source[i]);
      return;
    }
    default:
      SYRINX_CHECK(false, "weights are ", dtype_name(from.dtype), ", expected f32, bf16 or f16");
  }
}

int64_t PackedMatrix::padded_k() const {
  if (!is_quantized(type)) return k;
  const int64_t group = type == WeightType::kQ4 ? FourBits::kGroup : kGroup;
  return (k + group - 1) / group * group;
}

int64_t PackedMatrix::panel_bytes() const {
  switch (type) {
    case WeightType::kF32:
      return k * kPanel * 4;
    case WeightType::kBF16:
    case WeightType::kBF16A16:
      return k * kPanel * 2;
    case WeightType::kQ8:
    case WeightType::kQ8A8:
      return padded_k() / kGroup * kGroupBytes;
    case WeightType::kQ4:
      return FourBits::panel_bytes(padded_k());
    case WeightType::kMixed:
      break;
  }
  return 0;
}

PackedMatrix PackedMatrix::on_device(Device device) const {
  const int64_t rows = panels() * kPanel, stride = cuda::matrix_padded_k(k);
  const bool as_bf16 = type == WeightType::kQ4 || type == WeightType::kBF16A16;
  const WeightType there = type == WeightType::kQ8A8 ? WeightType::kQ8
                           : as_bf16                 ? WeightType::kBF16
                                                     : type;
  const int64_t size = there == WeightType::kF32 ? 4 : there == WeightType::kBF16 ? 2 : 1;
  const int64_t scales = there == WeightType::kQ8 ? rows * (stride / kGroup) : 0;
  Tensor host(Shape{rows * stride * size + 2 * scales}, DType::kU8);
  auto* to = static_cast<uint8_t*>(host.view().data);
  auto* scale = reinterpret_cast<uint16_t*>(to + rows * stride * size);
  const auto* from = static_cast<const uint8_t*>(data.view().data);
  for (int64_t p = 0; p < panels(); ++p) {
    uint8_t* rows_at = to + p * kPanel * stride * size;
    if (type == WeightType::kQ4) {
      unpack_q4_panel(*this, from + p * panel_bytes(), stride,
                      reinterpret_cast<uint16_t*>(rows_at));
      continue;
    }
    unpack_panel(*this, from + p * panel_bytes(), stride, rows_at,
                 scale + (scales ? p * kPanel * (stride / kGroup) : 0));
  }
  PackedMatrix m;
  m.type = there;
  m.out = out;
  m.k = k;
  m.data = copy_to(host, device);
  return m;
}

PackedMatrix PackedMatrix::pack(int64_t out, int64_t k, WeightType type,
                                FunctionRef<void(int64_t, float*)> fill) {
  SYRINX_CHECK(out > 0 && k > 0, "cannot pack an empty matrix [", out, ", ", k, "]");
  SYRINX_CHECK(type != WeightType::kBF16A16 || k % 2 == 0,
               "bf16a16 needs an even number of inputs, got ", k);
  PackedMatrix m;
  m.type = type == WeightType::kMixed ? WeightType::kQ8 : type;
  m.out = out;
  m.k = k;
  const int64_t padded = m.padded_k();
  m.data = pack_panels(m, [&](int64_t begin, int64_t end, uint8_t* to) {
    Tensor rows(Shape{kPanel, padded}, DType::kF32), halves;
    if (m.type == WeightType::kBF16) halves = Tensor(Shape{kPanel, k}, DType::kBF16);
    for (int64_t p = begin; p < end; ++p, to += m.panel_bytes()) {
      const int64_t width = std::min(kPanel, out - p * kPanel);
      if (width < kPanel) std::memset(rows.f32(), 0, rows.bytes());
      for (int64_t o = 0; o < width; ++o) fill(p * kPanel + o, rows.f32() + o * padded);
      pack_panel(m, rows.f32(), halves.empty() ? nullptr : halves.view().bf16(), to);
    }
  });
  return m;
}

}  // namespace syrinx
