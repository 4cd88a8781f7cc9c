// How a PackedMatrix lies on a GPU, and how the small-batch product cuts it up. Plain arithmetic,
// shared by host and device.
#pragma once

#include <cstdint>

namespace syrinx::cuda {

/// Row-major [rows][padded_k], zeros in the padding: f32, bf16, or int8 followed by the scales
/// [rows][padded_k / 64] bf16. rows is 16 * panels, in the order of the panels.
constexpr int64_t kChunk = 64;
constexpr int64_t matrix_padded_k(int64_t k) { return (k + kChunk - 1) / kChunk * kChunk; }

/// The small-batch product: a block makes kBlockRows outputs; its warps, and `split` blocks side by
/// side, each take a range of the chunks of k. The split depends on the matrix alone, so the order
/// of the sums does not depend on the batch.
constexpr int kSkinnyWarps = 8, kSkinnyPanels = 4, kBlockRows = 16 * kSkinnyPanels;
/// Blocks that share the k of one output: enough for about 250 blocks, and a chunk for each warp.
constexpr int skinny_split(int64_t rows, int64_t padded_k) {
  const int64_t blocks = (rows + kBlockRows - 1) / kBlockRows;
  const int64_t chunks = padded_k / kChunk;
  int split = 1;
  while (split < 8 && blocks * split * 2 <= 264 && chunks >= int64_t{kSkinnyWarps} * split * 2)
    split *= 2;
  return split;
}
/// First chunk of range `i` of `ranges`.
constexpr int64_t range_begin(int64_t chunks, int i, int ranges) { return chunks * i / ranges; }

/// The tiled f32 product adds k in stretches of this many; the partial sums are added in order.
constexpr int64_t kTileStretch = 1024;
constexpr int64_t tile_stretches(int64_t k) { return (k + kTileStretch - 1) / kTileStretch; }

}  // namespace syrinx::cuda
