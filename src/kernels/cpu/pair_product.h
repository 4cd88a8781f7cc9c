// The products of attention over a cache of pairs, for each instruction set. Only plain data, so
// that code for an instruction set shares no inline functions with the rest of the program.
#pragma once

#include <cstdint>

namespace syrinx {

/// The types of B and C of a PairProduct. Bf16 and f32:
template <typename Number>
struct PairTypes {
  using Weight = uint16_t;
  using Sum = float;
};
/// Whole numbers, whose sums are exact.
template <>
struct PairTypes<int16_t> {
  using Weight = int8_t;
  using Sum = int32_t;
};

/// Matrices of C[i][n] += A[i][2k + 1] B[k][n][1], then A[i][2k] B[k][n][0], for k = 0, 1, ... Each
/// product is added and rounded by itself, so an element's bits depend neither on rows nor on
/// columns. All instruction sets have the same bits if all numbers are normal. Number: uint16_t for
/// bf16, float for f32 that were rounded to bf16, or int16_t.
template <typename Number>
struct PairProduct {
  using Weight = typename PairTypes<Number>::Weight;
  using Sum = typename PairTypes<Number>::Sum;
  static constexpr int64_t kAStride = 256;  ///< distance between rows of A, in numbers

  const Number* a = nullptr;  ///< [rows][2 * depth], rows kAStride numbers apart
  const Weight* b = nullptr;  ///< [depth][columns][2], pairs b_stride numbers apart
  Sum* c = nullptr;           ///< [rows][columns], rows c_stride numbers apart
  int64_t b_stride = 0, c_stride = 0;
  int rows = 0;
  int64_t columns = 0;  ///< a multiple of 8
  int64_t depth = 0;    ///< number of pairs
  bool add = false;     ///< whether C keeps its sums; otherwise they begin with 0
};

#if defined(__x86_64__)
/// Computes a product with AVX-512; call it only if the processor has it.
void pair_product_avx512(const PairProduct<float>& p);
/// Computes a product with AVX512-BF16; call it only if the processor has it.
void pair_product_avx512bf16(const PairProduct<uint16_t>& p);
/// Computes a product with AVX512-VNNI; call it only if the processor has it.
void pair_product_avx512vnni(const PairProduct<int16_t>& p);
#endif

}  // namespace syrinx
