#include "kernels/packed_matrix.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace syrinx {
namespace {

constexpr int64_t kPanel = PackedMatrix::kPanel, kGroup = PackedMatrix::kGroup;

/// Smallest bf16 not below a positive value, so that value / scale stays within the int8 range.
uint16_t round_up_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0xffff) >> 16);
}

/// Place of output o among the 16 bf16 of a panel: the halves of a 32-bit lane are 8 outputs apart.
int64_t interleaved(int64_t o) { return o % 8 * 2 + o / 8; }

/// rows [16][padded_k] f32 -> one q8 panel.
void pack_q8_panel(const float* rows, int64_t padded_k, uint8_t* to) {
  for (int64_t g = 0; g < padded_k / kGroup; ++g, to += PackedMatrix::kGroupBytes) {
    auto* q = reinterpret_cast<int8_t*>(to);
    for (int64_t o = 0; o < kPanel; ++o) {
      const float* w = rows + o * padded_k + g * kGroup;
      float top = 0;
      for (int64_t i = 0; i < kGroup; ++i) top = std::max(top, std::fabs(w[i]));
      const uint16_t scale = round_up_bf16(top / 127.0f);
      std::memcpy(to + kPanel * kGroup + interleaved(o) * 2, &scale, 2);
      const float inverse = scale ? 1.0f / from_bf16(scale) : 0.0f;
      for (int64_t i = 0; i < kGroup; ++i) {
        const float value = std::clamp(std::nearbyint(w[i] * inverse), -127.0f, 127.0f);
        q[(i / 2) * kPanel * 2 + o * 2 + i % 2] = static_cast<int8_t>(value);
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
    case WeightType::kQ8:
      return "q8";
  }
  return "?";
}

uint16_t to_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float from_bf16(uint16_t value) { return std::bit_cast<float>(uint32_t{value} << 16); }

float from_f16(uint16_t value) {
  const uint32_t sign = uint32_t{value & 0x8000u} << 16, rest = value & 0x7fffu;
  if (rest >= 0x7c00) return std::bit_cast<float>(sign | 0x7f800000u | (rest & 0x3ff) << 13);
  // Scaling by 2^112 turns the exponent bias of f16 into that of f32, subnormals included.
  const float magnitude = std::bit_cast<float>(rest << 13) * 0x1p112f;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
}

void copy_as_f32(const View& from, int64_t begin, int64_t count, float* to) {
  switch (from.dtype) {
    case DType::kF32:
      std::copy_n(from.f32() + begin, count, to);
      return;
    case DType::kBF16:
      for (int64_t i = 0; i < count; ++i) to[i] = from_bf16(from.bf16()[begin + i]);
      return;
    case DType::kF16:
      for (int64_t i = 0; i < count; ++i) to[i] = from_f16(from.f16()[begin + i]);
      return;
    default:
      SYRINX_CHECK(false, "weights are ", dtype_name(from.dtype), ", expected f32, bf16 or f16");
  }
}

int64_t PackedMatrix::padded_k() const {
  return type == WeightType::kQ8 ? (k + kGroup - 1) / kGroup * kGroup : k;
}

int64_t PackedMatrix::panel_bytes() const {
  switch (type) {
    case WeightType::kF32:
      return k * kPanel * 4;
    case WeightType::kBF16:
      return k * kPanel * 2;
    case WeightType::kQ8:
      return padded_k() / kGroup * kGroupBytes;
  }
  return 0;
}

PackedMatrix PackedMatrix::pack(int64_t out, int64_t k, WeightType type,
                                FunctionRef<void(int64_t, float*)> fill) {
  SYRINX_CHECK(out > 0 && k > 0, "packing an empty matrix [", out, ", ", k, "]");
  PackedMatrix m;
  m.type = type;
  m.out = out;
  m.k = k;
  m.data = Tensor(Shape{m.panels() * m.panel_bytes()}, DType::kU8);
  const int64_t padded = m.padded_k();
  Tensor rows(Shape{kPanel, padded}, DType::kF32);
  for (int64_t p = 0; p < m.panels(); ++p) {
    const int64_t width = std::min(kPanel, out - p * kPanel);
    if (width < kPanel) std::memset(rows.f32(), 0, rows.bytes());
    for (int64_t o = 0; o < width; ++o) fill(p * kPanel + o, rows.f32() + o * padded);
    auto* to = static_cast<uint8_t*>(m.data.view().data) + p * m.panel_bytes();
    if (type == WeightType::kQ8) {
      pack_q8_panel(rows.f32(), padded, to);
      continue;
    }
    for (int64_t i = 0; i < k; ++i) {
      for (int64_t o = 0; o < kPanel; ++o) {
        const float value = rows.f32()[o * padded + i];
        if (type == WeightType::kF32) {
          reinterpret_cast<float*>(to)[i * kPanel + o] = value;
        } else {
          reinterpret_cast<uint16_t*>(to)[i * kPanel + interleaved(o)] = to_bf16(value);
        }
      }
    }
  }
  return m;
}

}  // namespace syrinx
