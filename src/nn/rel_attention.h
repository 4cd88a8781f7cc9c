// Self-attention with relative positions, in chunks. A row attends to all rows of its own chunk and
// to earlier chunks: all of them, or a number set in the cache of its stream. The layer or the
// cache sets the length of chunks. Keys and values are kept while later rows need them, so the work
// for a stream is its length times the rows to which a row attends. Results do not depend on when
// chunks arrive, or on the other streams of a call. Formula (Transformer-XL, arXiv 1901.02860,
// appendix B): score(i, j) = ((q_i + u) k_j + (q_i + v) W_p e(i - j)) / sqrt(D), where e is the
// sines and cosines of the distance. The layout is that of ESPnet's "rel_pos" attention. Const
// after construction, shared by threads. R rows of a chunk, N rows of all streams, H width, D head
// size; activations f32.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "nn/layers.h"
#include "nn/row_queue.h"

namespace syrinx {

/// The names of a layer's tensors, and whether its linears have a bias.
struct RelNames {
  std::string q = "linear_q", k = "linear_k", v = "linear_v", out = "linear_out";
  std::string distance = "linear_pos", bias_u = "pos_bias_u", bias_v = "pos_bias_v";
  bool biased = true;  ///< whether q, k, v and out have a bias
};

class RelAttention {
 public:
  /// One stream's keys and values [rows, H], and projected distances [distances, H].
  struct Cache {
    std::vector<float> keys = {}, values = {}, distances = {};
    /// The same on a GPU; dropped rows stay.
    RowQueue keys_there{}, values_there{}, distances_there{};
    int64_t rows = 0;     ///< number of rows received so far
    int64_t dropped = 0;  ///< number of first rows that were dropped; keys, values begin after them
    int64_t most = 0;     ///< limit of rows per chunk, constant for a stream; 0: the layer's limit
    int64_t left = -1;    ///< earlier chunks to which a row attends, constant; < 0: all
    Cache clone() const;
  };
  /// The next `rows` rows of a stream. With Cache::left, they may be several chunks, and a chunk
  /// begins with the first row. Otherwise they belong to one chunk.
  struct Job {
    int64_t rows = 0;
    Cache* cache = nullptr;
  };

  RelAttention() = default;
  /// Loads linear_{q,k,v,out}, linear_pos (without bias) and pos_bias_{u,v} [heads, D]. `chunk`:
  /// limit of rows per call, unless the cache sets another limit.
  RelAttention(const Weights& weights, int64_t width, int64_t heads, int64_t chunk, WeightType type,
               const RelNames& names = {});

  /// Projects the distances [-(chunk - 1), farthest] once, for caches with `left`. Their streams
  /// then store no distances. `chunk` is the layer's limit.
  void prepare(int64_t farthest);

  /// Appends the rows `normed` [R, H] to the cache and adds their attention to x [R, H].
  void run(StepContext& ctx, const View& normed, Cache& cache, const View& x) const;
  /// Runs the layer for the streams of `jobs`, whose rows are consecutive in normed and x [N, H].
  void run(StepContext& ctx, const View& normed, std::span<const Job> jobs, const View& x) const;
  /// Moves the weights to a GPU. The streams of later calls must have begun there, without `left`.
  void move_to(Device device) { syrinx::move_to(device, qkv_, out_, distance_, bias_u_, bias_v_); }
  size_t bytes() const { return qkv_.bytes() + out_.bytes() + distance_.bytes(); }

 private:
  int64_t most(const Cache& cache) const { return cache.most > 0 ? cache.most : chunk_; }
  void extend(StepContext& ctx, int64_t rows, Cache& cache) const;
  void attend(StepContext& ctx, const View& qkv, const Cache& cache, const View& mixed) const;
  void forget(Cache& cache) const;
  void attend_there(StepContext& ctx, const View& q, const View& k, const View& v, Cache& cache,
                    const View& mixed) const;
  void run_there(StepContext& ctx, const View& normed, std::span<const Job> jobs,
                 const View& x) const;

  int64_t width_ = 0, heads_ = 0, chunk_ = 0;
  PackedLinear qkv_, out_, distance_;
  Tensor bias_u_, bias_v_;
  std::vector<float> table_;  // projected distances [-(chunk - 1), farthest] for caches with `left`
};

}  // namespace syrinx
