// Attention with relative positions, in chunks (Transformer-XL, arXiv 1901.02860, appendix B):
// score(i, j) = ((q_i + u) k_j + (q_i + v) p(i - j)) / sqrt(D), where p is a projected distance. A
// row's result has the same bits in any batch, and does not depend on when its chunk arrives. N
// rows of all streams, H width, D head size; all numbers are f32.
#pragma once

#include <algorithm>
#include <span>

#include "tensor/context.h"

namespace syrinx {

/// The last rows of a stream, and the rows to which they may attend. Places count all rows of the
/// stream. Pointers are on the context's device.
struct RelSegment {
  int64_t rows = 0;     ///< rows of the call
  int64_t total = 0;    ///< rows of the stream so far, with those of the call
  int64_t dropped = 0;  ///< first rows of the stream that are not held
  int64_t chunk = 0;    ///< rows of a chunk
  int64_t left = -1;    ///< earlier chunks to which a row attends; below 0: all rows that are held
  const float* keys = nullptr;       ///< keys of the held rows [total - dropped, H]
  const float* values = nullptr;     ///< their values [total - dropped, H]
  const float* distances = nullptr;  ///< projected distances [.., H]
  int64_t origin = 0;                ///< row of `distances` with distance 0
};

/// The held rows [begin, end) to which a row attends.
struct RelSeen {
  int64_t begin, end;
};
constexpr RelSeen rel_seen(const RelSegment& s, int64_t place) {
  if (s.left < 0) return {0, s.total - s.dropped};
  const int64_t mine = place / s.chunk, first = mine > s.left ? mine - s.left : 0;
  const int64_t end = (mine + 1) * s.chunk < s.total ? (mine + 1) * s.chunk : s.total;
  return {first * s.chunk - s.dropped, end - s.dropped};
}

/// Computes out [N, H] for the rows of all streams, one stream after another. q [N, H]; u and v
/// [heads, D], D at most 128.
void rel_attention(StepContext& ctx, const View& q, const View& u, const View& v,
                   std::span<const RelSegment> streams, const View& out);

/// Writes the sines and cosines of the distances from `first` on, interleaved as ESPnet's
/// RelPositionalEncoding does: out [.., H].
void encode_distances(StepContext& ctx, int64_t first, const View& out);

}  // namespace syrinx
