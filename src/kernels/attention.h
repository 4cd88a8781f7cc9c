// Attention over a paged cache of keys and values. One call processes prefill and decode rows of
// many sequences; the query heads of a group share the cache rows that they read. The result of a
// row depends only on its own sequence, bit for bit: not on the batch, the chunks of the prompt or
// the number of threads. On a GPU, heads up to 128 with a cache of 16 bits run on tensor cores,
// which round queries and weights to the type of the cache. The relative RMS error for random
// numbers is then 0.052 % (f16) or 0.38 % (bf16), on ordinary cores 0.040 % or 0.31 %
// (attention_test). Legend: N rows in the batch, B sequences, D head size (a multiple of 8), L
// cached positions.
#pragma once

#include <span>

#include "kernels/heads.h"
#include "tensor/context.h"

namespace syrinx {

/// The sizes and the type of a cache. dtype is f32, f16, bf16 or i8. bf16, for encoders, rounds q
/// and the weights of positions, too. i8 stores 8 bits per number and an f32 scale per position,
/// head and part (K or V). It has half the memory traffic of f16, and an error of about 0.4 %.
struct KvSpec {
  int layers = 0;
  int kv_heads = 0;
  int head_dim = 0;
  DType dtype = DType::kF16;
  /// With i8, on a CPU: q and the weights of positions are rounded to 8 bits, too, else to 16.
  bool byte_products = false;
};

/// The memory of all pages. The caller assigns the pages to sequences. Pages are zero at first and
/// use no physical memory before they are written. Layout: [layer][page][kv_head]{K
/// [head_dim][kPageRows], V [kPageRows][head_dim]}. K and V are read in memory order, one vector
/// per 8 positions (K) or 8 columns (V), without horizontal sums. i8, and bf16 on the CPU, store
/// pairs next to each other, for products of pairs: K [head_dim / 2][kPageRows][2], V [kPageRows /
/// 2][head_dim][2]; in i8 each is followed by scales [kPageRows].
class KvPool {
 public:
  static constexpr int kPageRows = 32;  // positions; 32 f16 keys fill a cache line

  KvPool() = default;
  KvPool(const KvSpec& spec, int64_t pages, Device device = Device::kCpu);
  /// Uses borrowed memory on any device, of at least pages * page_bytes(spec) bytes, with any
  /// contents. Used for caches that exist only during one step (depth transformers).
  KvPool(const KvSpec& spec, int64_t pages, const View& memory);
  ~KvPool();
  KvPool(KvPool&& other) noexcept;
  KvPool& operator=(KvPool&& other) noexcept;

  const KvSpec& spec() const { return spec_; }
  int64_t pages() const { return pages_; }
  /// Returns the bytes of one page, in all layers together.
  static size_t page_bytes(const KvSpec& spec);
  /// Returns the number of pages that hold `positions` positions.
  static int64_t pages_for(int64_t positions) { return (positions + kPageRows - 1) / kPageRows; }

  Device device() const { return device_; }
  /// Returns a copy with its own memory on `device`. No kernel may write to this pool.
  KvPool copy_to(Device device) const;
  KvPool clone() const { return copy_to(device_); }
  /// Copies all rows of a page, over all layers. No kernel may be writing either page. `from` may
  /// be a page of another pool with the same spec.
  void copy_page(int64_t from, int64_t to) const { copy_page(*this, from, to); }
  void copy_page(const KvPool& pool, int64_t from, int64_t to) const;

  /// Return the address of one head's keys and values; the values follow the keys.
  void* keys(int layer, int64_t page, int kv_head) const;
  void* values(int layer, int64_t page, int kv_head) const;

 private:
  KvSpec spec_;
  int64_t pages_ = 0;
  size_t bytes_ = 0;  // bytes of owned memory; 0 if the memory is borrowed
  Device device_ = Device::kCpu;
  char* memory_ = nullptr;
};

/// Rows of `pages` consecutive pages from `from` on, which are copied to the same number of pages
/// from `to` on: in each page row `from_row` to row `to_row`, in all heads.
struct CachedRowCopy {
  int64_t from = 0, to = 0;
  int32_t from_row = 0, to_row = 0;
};
/// Makes the copies in any order: none may read or write what another one writes. The pool has one
/// layer of f32 or f16.
void copy_cached_rows(StepContext& ctx, std::span<const CachedRowCopy> copies, int64_t pages,
                      const KvPool& pool);

/// A batch of sequences with different numbers of rows. Borrows its arrays for one call. Sequence b
/// has the rows [row_begin[b], row_begin[b + 1]) of the batch. They are its last positions, up to
/// kv_len[b] - 1. Position p is in page (p / kPageRows) % max_pages of row b of the page table.
/// With a window the table may be a ring, if max_pages * kPageRows >= window + rows + kPageRows.
/// Without a window it must have pages for kv_len.
struct Ragged {
  std::span<const int32_t> row_begin;   ///< [B + 1], ascending, from 0 to N
  std::span<const int32_t> kv_len;      ///< [B], cached positions, including the rows of this call
  std::span<const int32_t> page_table;  ///< [B][max_pages]
  int max_pages = 0;
  /// row_begin, kv_len and page_table, concatenated in GPU memory. If null, each GPU kernel uploads
  /// the three arrays itself.
  const int32_t* on_device = nullptr;

  int64_t sequences() const { return static_cast<int64_t>(kv_len.size()); }
  int64_t rows() const { return row_begin.empty() ? 0 : row_begin.back(); }
  int32_t first_position(int64_t b) const { return kv_len[b] - (row_begin[b + 1] - row_begin[b]); }
};

/// Uploads the arrays of `ragged` to ctx.arena, once for all layers. On the CPU, returns `ragged`
/// unchanged.
Ragged resident(StepContext& ctx, const Ragged& ragged);

/// Writes the position of every row of the batch to `out` [N].
void ragged_positions(const Ragged& ragged, std::span<int32_t> out);

/// Options of attention: which positions a row attends to, and how scores are computed.
struct AttentionSpec {
  float scale = 1;     ///< scores are q.k * scale; commonly 1 / sqrt(D)
  int window = 0;      ///< row i attends to (i - window, i]; 0 means all earlier positions
  bool causal = true;  ///< false: rows attend to all kv_len positions (encoders)
  /// Positions [begin, end) to which the rows of each sequence may attend, [B]. Empty spans mean no
  /// bounds. Every row must have at least one position.
  std::span<const int32_t> begin = {}, end = {};
  /// Scores become cap * tanh(score / cap); 0 means no cap.
  float cap = 0;
  /// The scores of query head h then get slopes[h] * (p - i), for a row at position i that attends
  /// to position p (ALiBi, arXiv 2108.12409). [heads] f32, on the device of q. Empty: no slopes.
  View slopes = {};
};

/// Returns the size of attention's launches on a GPU: the most groups of positions that a sequence
/// sees, rounded up to a power of two, so that the launches stay the same while contexts grow.
int64_t attention_groups(const Ragged& ragged, const AttentionSpec& spec);

/// Writes the rows k and v [N, kv_heads, D] to the last positions of their sequences. Converts to
/// the type of the pool by rounding to nearest even; f16 saturates at +-65504.
void write_kv(StepContext& ctx, const HeadsView& k, const HeadsView& v, const KvPool& pool,
              int layer, const Ragged& ragged);

/// Computes out[i, h] = softmax(q[i, h] . K * scale) V for every row and head. q [N, heads, D]; out
/// [N, heads * D] may be the memory of q, but must not overlap it partly. Query head h uses kv head
/// h / (heads / kv_heads).
void paged_attention(StepContext& ctx, const HeadsView& q, const KvPool& pool, int layer,
                     const Ragged& ragged, const AttentionSpec& spec, const View& out);

/// Gives the bits of write_kv followed by paged_attention. If every sequence has only a few rows,
/// as in decoding, both run in one parallel pass.
void write_and_attend(StepContext& ctx, const HeadsView& q, const HeadsView& k, const HeadsView& v,
                      const KvPool& pool, int layer, const Ragged& ragged,
                      const AttentionSpec& spec, const View& out);

}  // namespace syrinx
