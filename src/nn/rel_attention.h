// Self-attention with relative positions, in chunks: a row sees all rows of its own chunk and of
// the chunks before, all of them or a number that the cache of a stream sets. The length of chunks
// is set by the layer, or by the cache. Keys and values that later rows see are kept, so the work
// for a stream is its length times the number of rows that a row sees. Results do not depend on
// when chunks arrive, nor on the other streams of a call.
// Formula (Transformer-XL, arXiv 1901.02860, appendix B): score(i, j) = ((q_i + u) k_j + (q_i + v)
// W_p e(i - j)) / sqrt(D), where e is the sines and cosines of the distance. Source of the layout:
// ESPnet's "rel_pos" attention. Const after construction, shared by threads.
// R rows of a chunk, N rows of all streams, H width, D head size; activations f32.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "nn/layers.h"

namespace syrinx {

/// The names of a layer's tensors, and which have a bias.
struct RelNames {
  std::string q = "linear_q", k = "linear_k", v = "linear_v", out = "linear_out";
  std::string distance = "linear_pos", bias_u = "pos_bias_u", bias_v = "pos_bias_v";
  bool biased = true;  ///< q, k, v and out
};

class RelAttention {
 public:
  /// One stream's keys, values and projected distances, each [rows, H].
  struct Cache {
    std::vector<float> keys = {}, values = {}, distances = {};
    int64_t rows = 0;     ///< rows so far
    int64_t dropped = 0;  ///< leading rows that no later row sees; keys and values begin after them
    int64_t most = 0;     ///< most rows of a chunk; 0: the layer's setting. Constant for a stream
    int64_t left = -1;    ///< number of chunks before its own that a row sees; < 0: all. Constant
  };
  /// The next `rows` rows of a stream. With Cache::left, they are of any number of chunks, the
  /// first of which begins here; else of one chunk.
  struct Job {
    int64_t rows = 0;
    Cache* cache = nullptr;
  };

  RelAttention() = default;
  /// Takes linear_{q,k,v,out}, linear_pos (without bias) and pos_bias_{u,v} [heads, D]. `chunk`:
  /// most rows per call, unless the cache sets it.
  RelAttention(const Weights& weights, int64_t width, int64_t heads, int64_t chunk, WeightType type,
               const RelNames& names = {});

  /// Projects the distances [-(chunk - 1), farthest] once, for caches with `left`, whose streams
  /// then keep none. `chunk` is the layer's.
  void prepare(int64_t farthest);

  /// Appends the rows `normed` [R, H] to the cache and adds their attention to x [R, H].
  void run(StepContext& ctx, const View& normed, Cache& cache, const View& x) const;
  /// Does the same for the streams of `jobs`, whose rows follow one another in normed and x [N, H].
  void run(StepContext& ctx, const View& normed, std::span<const Job> jobs, const View& x) const;
  size_t bytes() const { return qkv_.bytes() + out_.bytes() + distance_.bytes(); }

 private:
  int64_t most(const Cache& cache) const { return cache.most > 0 ? cache.most : chunk_; }
  void extend(StepContext& ctx, int64_t rows, Cache& cache) const;
  void attend(StepContext& ctx, const View& qkv, const Cache& cache, const View& mixed) const;
  void forget(Cache& cache) const;

  int64_t width_ = 0, heads_ = 0, chunk_ = 0;
  PackedLinear qkv_, out_, distance_;
  Tensor bias_u_, bias_v_;
  std::vector<float> table_;  // distances [-(chunk - 1), farthest] for caches with `left`
};

}  // namespace syrinx
