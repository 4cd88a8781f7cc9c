// Attention with relative positions (nn/rel_attention.h) on a GPU. A row's result depends only on
// its own stream. R rows of a chunk, K rows of the stream so far, W width, D head size; f32.
#pragma once

#include "tensor/context.h"

namespace syrinx {

/// The rows of one stream, in memory of a GPU. `distances`: projected distances from `nearest` on.
struct RelRows {
  View keys, values;  ///< [K, W]
  View distances;     ///< [.., W]
  int64_t nearest = 0;
};

/// Computes for the last R rows of a stream out = softmax(scale ((q + u) k + (q + v) p)) values,
/// where p is the projection of the distance from the row to the row of k. q, out [R, W]; u, v
/// [heads, D], D <= 128.
void attend_relative(StepContext& ctx, const View& q, const View& u, const View& v,
                     const RelRows& stream, int64_t heads, const View& out);

/// Writes the sines and cosines of the distances from `first` on, interleaved: out [.., W].
void encode_distances(StepContext& ctx, int64_t first, const View& out);

}  // namespace syrinx
