// The layout of a PackedMatrix on a GPU, and how the small-batch product divides it. Plain
// arithmetic, shared by host and device.
#pragma once

#include <cstdint>

namespace syrinx::cuda {

/// A matrix is row-major [rows][padded_k], padded with zeros: f32, bf16, or int8 followed by the
/// scales [rows][padded_k / 64] bf16. It has 16 * panels rows, in the order of the panels.
constexpr int64_t kChunk = 64;
constexpr int64_t matrix_padded_k(int64_t k) { return (k + kChunk - 1) / kChunk * kChunk; }

/// The small-batch product: a block computes the outputs of some panels of 16 matrix rows. Its
/// warps, and `split` blocks in parallel, each sum a range of the chunks of k. The split depends
/// only on the matrix, so the order of the sums depends neither on the batch nor on the panels per
/// block.
constexpr int kSkinnyWarps = 8;
/// Returns how many blocks share the sum over k of one output. Joining costs about 2 us (H200), so
/// only matrices with few rows are split, as long as each warp has a chunk.
constexpr int skinny_split(int64_t rows, int64_t padded_k) {
  const int64_t panels = (rows + 15) / 16, chunks = padded_k / kChunk;
  int split = 1;
  while (split < 8 && panels * split * 2 <= 64 && chunks >= int64_t{kSkinnyWarps} * split * 2)
    split *= 2;
  return split;
}
/// Returns the panels per block: 1 or 2, or 4 if the batch has at most 16 rows (`tiles` tiles of
/// 8). `rows`: rows of the weight. More panels read activations less often. Fewer panels give more
/// blocks and less idle time at the end. A gated pair needs two panels.
constexpr int skinny_panels(int64_t rows, int tiles, bool gated) {
  const int64_t panels = (rows + 15) / 16;
  int each = gated ? 2 : 1;
  while (each < (tiles >= 4 ? 2 : 4) && panels / each > (tiles == 1 ? 396 : 264)) each *= 2;
  return each;
}
/// The `chunks` chunks of k are divided into `ranges` ranges: returns the first chunk of range `i`.
/// In 32 bits, because a GPU divides 64 bits slowly.
constexpr int range_begin(int64_t chunks, int i, int ranges) {
  return static_cast<int>(static_cast<uint32_t>(chunks) * static_cast<uint32_t>(i) /
                          static_cast<uint32_t>(ranges));
}

/// Finds the ends of kSkinnyWarps ranges, for a loop over all chunks.
struct RangeEnds {
  int chunks, next;  // next: kSkinnyWarps times the end of a range, before rounding down
  constexpr explicit RangeEnds(int all) : chunks(all), next(all) {}
  /// Returns whether a range ends after `chunk`; called for each chunk in order.
  constexpr bool after(int chunk) {
    if (next >= kSkinnyWarps * (chunk + 2)) return false;
    next += chunks;
    return true;
  }
};

/// The most rows that a product itself rounds to bf16 while it reads them.
constexpr int64_t kRoundedInPlace = 8;

/// A product may compute the RMS norm of its rows itself. With a few rows, each block norms all of
/// them. It has them in shared memory, as bf16, normed_stride(k) numbers apart: the lanes that load
/// together use all banks.
constexpr int64_t normed_stride(int64_t k) { return k + 32; }
/// Returns the bytes of shared memory for such rows.
constexpr int64_t normed_bytes(int64_t rows, int64_t k) { return 2 * rows * normed_stride(k); }
constexpr int64_t kMostNormedBytes = 64 << 10;  // so that two blocks share a multiprocessor
/// Returns whether each block norms all rows of k numbers.
constexpr bool norms_in_each_block(int64_t rows, int64_t k) {
  return rows <= kRoundedInPlace && normed_bytes(rows, k) <= kMostNormedBytes;
}
/// With more rows, the first kNormingBlocks blocks norm some rows each, for all blocks. They are
/// few, because the other blocks wait for them: all must run at the same time on any GPU.
constexpr int64_t kNormingBlocks = 16;
constexpr int64_t kMostSharingBlocks = 0xffff;
struct RowRange {
  int64_t begin, end;
};
/// Returns the rows that block `block` of `blocks` norms, none for most blocks.
constexpr RowRange normed_rows(int64_t rows, unsigned blocks, unsigned block) {
  const unsigned among = blocks < kNormingBlocks ? blocks : kNormingBlocks;
  const unsigned each = (static_cast<unsigned>(rows) + among - 1) / among;
  const int64_t begin = int64_t{each} * block;
  if (begin >= rows) return {rows, rows};
  return {begin, begin + each < rows ? begin + each : rows};
}
/// The most rows that a product norms: each warp of a norming block has one.
constexpr int64_t kMostNormedRows = kNormingBlocks * kSkinnyWarps;
/// Returns whether a product with `rows` rows of k numbers norms them.
constexpr bool norms_in_product(int64_t rows, int64_t k) {
  return rows <= kMostNormedRows && k % kChunk == 0;
}

/// The tiled f32 product sums k in stretches of this length, and adds the sums of stretches in
/// order.
constexpr int64_t kTileStretch = 1024;
constexpr int64_t tile_stretches(int64_t k) { return (k + kTileStretch - 1) / kTileStretch; }

}  // namespace syrinx::cuda
