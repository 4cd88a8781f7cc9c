#include "tensor/finite.h"

namespace syrinx {
namespace {

/// Returns whether all exponents are less than `exponent`. An exponent of all ones means NaN or
/// infinity. Written so that the compiler vectorises the loop.
template <typename Bits>
bool all_below(const void* data, int64_t begin, int64_t count, Bits exponent) {
  const Bits* bits = static_cast<const Bits*>(data) + begin;
  Bits bad = 0;
  for (int64_t i = 0; i < count; ++i) {
    bad |= static_cast<Bits>((bits[i] & exponent) == exponent ? 1 : 0);
  }
  return bad == 0;
}

}  // namespace

bool all_finite(const View& view, int64_t begin, int64_t count) {
  switch (view.dtype) {
    case DType::kF32:
      return all_below<uint32_t>(view.data, begin, count, 0x7f800000u);
    case DType::kBF16:
      return all_below<uint16_t>(view.data, begin, count, 0x7f80);
    case DType::kF16:
      return all_below<uint16_t>(view.data, begin, count, 0x7c00);
    default:
      return true;
  }
}

}  // namespace syrinx
