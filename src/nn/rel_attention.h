// Self-attention with relative positions, in chunks: a row sees all rows of its own chunk and of
// the chunks before. The length of chunks is set by the layer, or by the cache of a stream. Keys
// and values are kept for later rows, so the work for a stream is its length times the number of
// rows that a row sees. Results do not depend on when chunks arrive.
// Formula (Transformer-XL, arXiv 1901.02860, appendix B): score(i, j) = ((q_i + u) k_j + (q_i + v)
// W_p e(i - j)) / sqrt(D), where e is the sines and cosines of the distance. Source of the layout:
// ESPnet's "rel_pos" attention. Const after construction, shared by threads.
// R rows of a chunk, H width, D head size; activations f32.
#pragma once

#include <vector>

#include "nn/layers.h"

namespace syrinx {

class RelAttention {
 public:
  /// One stream's keys, values and projected distances, each [rows, H].
  struct Cache {
    std::vector<float> keys, values, distances;
    int64_t rows = 0;  ///< rows so far
    int64_t most = 0;  ///< most rows per call; 0: the layer's setting. Constant for a stream
  };

  RelAttention() = default;
  /// Takes linear_{q,k,v,out}, linear_pos (without bias) and pos_bias_{u,v} [heads, D]. `chunk`:
  /// most rows per call, unless the cache sets it.
  RelAttention(const Weights& weights, int64_t width, int64_t heads, int64_t chunk,
               WeightType type);

  /// Appends the rows `normed` [R, H] to the cache and adds their attention to x [R, H].
  void run(StepContext& ctx, const View& normed, Cache& cache, const View& x) const;
  size_t bytes() const { return qkv_.bytes() + out_.bytes() + distance_.bytes(); }

 private:
  int64_t most(const Cache& cache) const { return cache.most > 0 ? cache.most : chunk_; }
  void extend(StepContext& ctx, int64_t rows, Cache& cache) const;
  void attend(StepContext& ctx, const View& qkv, const Cache& cache, const View& mixed) const;

  int64_t width_ = 0, heads_ = 0, chunk_ = 0;
  PackedLinear qkv_, out_, distance_;
  Tensor bias_u_, bias_v_;
};

}  // namespace syrinx
