// Self-attention with relative positions, in chunks. A row attends to all rows of its own chunk and
// to earlier chunks: all of them, or a number set in the cache of its stream. The layer or the
// cache sets the length of chunks. Keys and values are kept while later rows need them, so the work
// for a stream is its length times the rows to which a row attends. Results do not depend on when
// chunks arrive, or on the other streams of a call. Formula: kernels/rel_attention.h, where the
// distances are projected sines and cosines. The layout is that of ESPnet's "rel_pos" attention.
// Const after construction, shared by threads. R rows of a chunk, N rows of all streams, H width, D
// head size; activations f32.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "kernels/rel_attention.h"
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
  /// The rows of one stream to which later rows attend, on the device of the layer.
  struct Cache {
    RowQueue keys, values;  ///< [rows - dropped, H]
    RowQueue distances;     ///< projected distances [.., H], if `left` is negative
    int64_t rows = 0;       ///< number of rows received so far
    int64_t dropped = 0;    ///< number of first rows that were dropped
    int64_t most = 0;       ///< limit of rows per chunk
    int64_t left = -1;      ///< earlier chunks to which a row attends; < 0: all
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
  /// limit of rows per chunk, unless open() sets another limit.
  RelAttention(const Weights& weights, int64_t width, int64_t heads, int64_t chunk, WeightType type,
               const RelNames& names = {});

  /// Projects the distances [1 - chunk, farthest] once, for caches with `left`. Their streams
  /// then store no distances. `chunk` is the layer's limit. Runs on the CPU, before move_to().
  void prepare(int64_t farthest);

  /// Opens a stream in chunks of at most `most` rows (0: the layer's limit). A row attends to
  /// `left` earlier chunks, or to all if `left` is negative.
  Cache open(int64_t most = 0, int64_t left = -1) const;
  /// Appends the rows `normed` [R, H] to the cache and adds their attention to x [R, H].
  void run(StepContext& ctx, const View& normed, Cache& cache, const View& x) const;
  /// Runs the layer for the streams of `jobs`, whose rows are consecutive in normed and x [N, H].
  void run(StepContext& ctx, const View& normed, std::span<const Job> jobs, const View& x) const;
  size_t bytes() const { return qkv_.bytes() + out_.bytes() + distance_.bytes(); }
  /// Moves the weights to a GPU. Streams opened afterwards are on the GPU, too; their caches may be
  /// destroyed only after synchronize().
  void move_to(Device device);

 private:
  void check(const Job& job) const;
  void append(StepContext& ctx, const View& k, const View& v, std::span<const Job> jobs) const;
  void extend(StepContext& ctx, Cache& cache) const;
  RelSegment segment(const Job& job) const;
  void forget(StepContext& ctx, std::span<const Job> jobs) const;

  int64_t width_ = 0, heads_ = 0, chunk_ = 0;
  PackedLinear qkv_, out_, distance_;
  Tensor bias_u_, bias_v_;
  Tensor table_;  // projected distances [1 - chunk, farthest] for caches with `left`
};

}  // namespace syrinx
