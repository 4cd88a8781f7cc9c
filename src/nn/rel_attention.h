// Self-attention with relative positions, fed in chunks: a row sees every row of the chunks before
// its own and all of its own. Chunks are as long as the layer's setting, or as the cache of a
// stream. Keys and values for later rows are kept, so the work of a stream grows with its length
// times the rows that a row sees, and its results do not depend on when chunks come. Formula
// (Transformer-XL, arXiv 1901.02860, appendix B): score(i, j) =
// ((q_i + u) k_j + (q_i + v) W_p e(i - j)) / sqrt(D), e the sines and cosines of the distance.
// Source of the layout: ESPnet's "rel_pos" attention. Const after construction, shared by threads.
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
    int64_t rows = 0;  ///< seen so far
    int64_t most = 0;  ///< rows of a call at most; 0: the layer's. Constant for a stream
  };

  RelAttention() = default;
  /// Names: linear_{q,k,v,out}, linear_pos (without bias), pos_bias_{u,v} [heads, D].
  /// `chunk`: most rows of a call, where the cache does not say.
  RelAttention(const Weights& weights, int64_t width, int64_t heads, int64_t chunk,
               WeightType type);

  /// x [R, H] += attention of the rows `normed` [R, H]; they are appended to the cache.
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
