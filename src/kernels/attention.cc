#include "kernels/attention.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <utility>

#include "kernels/attention_impl.h"
#include "kernels/cpu/features.h"

namespace syrinx {
namespace {

constexpr int kRows = KvPool::kPageRows;
constexpr size_t kHuge = 2u << 20;

size_t head_bytes(const KvSpec& s) {
  return static_cast<size_t>(2 * kv_part_bytes(s.head_dim, s.dtype));
}

void check_ragged(const char* who, const Ragged& r, const KvPool& pool, int layer, int64_t rows) {
  const int64_t b = r.sequences();
  SYRINX_CHECK(static_cast<int64_t>(r.row_begin.size()) == b + 1 && r.row_begin[0] == 0, "[", who,
               "] ", b, " sequences need ", b + 1, " row_begin from 0");
  SYRINX_CHECK(r.rows() == rows, "[", who, "] ", rows, " rows, but row_begin ends at ", r.rows());
  SYRINX_CHECK(static_cast<int64_t>(r.page_table.size()) == b * r.max_pages, "[", who,
               "] page table of ", r.page_table.size(), ", expected ", b, " x ", r.max_pages);
  SYRINX_CHECK(layer >= 0 && layer < pool.spec().layers, "[", who, "] layer ", layer, " of ",
               pool.spec().layers);
}

// The pages that a call touches must exist; anything else is the page manager's fault.
void check_pages(const char* who, const Ragged& r, const KvPool& pool, int64_t b,
                 int64_t from_position) {
  const int32_t* table = r.page_table.data() + b * r.max_pages;
  const int64_t first = from_position / kRows, last = (int64_t{r.kv_len[b]} - 1) / kRows;
  SYRINX_CHECK(last - first < r.max_pages, "[", who, "] sequence ", b, " touches positions ",
               from_position, "..", r.kv_len[b], ", more than ", r.max_pages, " pages hold");
  for (int64_t p = first; p <= last; ++p) {
    const int32_t page = table[p % r.max_pages];
    SYRINX_CHECK(page >= 0 && page < pool.pages(), "[", who, "] sequence ", b, " position ",
                 p * kRows, ": page ", page, " of ", pool.pages());
  }
}

}  // namespace

KvPool::KvPool(const KvSpec& spec, int64_t pages) : spec_(spec), pages_(pages) {
  SYRINX_CHECK(spec.layers > 0 && spec.kv_heads > 0 && pages > 0, "[kv_pool] ", spec.layers,
               " layers, ", spec.kv_heads, " heads, ", pages, " pages");
  SYRINX_CHECK(
      spec.head_dim > 0 && spec.head_dim % 8 == 0 && spec.head_dim <= AttentionTile::kMaxDim,
      "[kv_pool] head size ", spec.head_dim, " is not a multiple of 8 up to ",
      AttentionTile::kMaxDim);
  const bool known = spec.dtype == DType::kF32 || spec.dtype == DType::kF16 ||
                     spec.dtype == DType::kBF16 || spec.dtype == DType::kI8;
  SYRINX_CHECK(known, "[kv_pool] no cache of ", dtype_name(spec.dtype));
  bytes_ = page_bytes(spec) * static_cast<size_t>(pages);
  void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  if (bytes_ >= 8 * kHuge) madvise(memory, bytes_, MADV_HUGEPAGE);
  memory_ = static_cast<char*>(memory);
}

KvPool::~KvPool() {
  if (memory_) munmap(memory_, bytes_);
}

KvPool::KvPool(KvPool&& other) noexcept { *this = std::move(other); }

KvPool& KvPool::operator=(KvPool&& other) noexcept {
  std::swap(spec_, other.spec_);
  std::swap(pages_, other.pages_);
  std::swap(bytes_, other.bytes_);
  std::swap(memory_, other.memory_);
  return *this;
}

size_t KvPool::page_bytes(const KvSpec& spec) {
  return static_cast<size_t>(spec.layers) * spec.kv_heads * head_bytes(spec);
}

void* KvPool::keys(int layer, int64_t page, int kv_head) const {
  return memory_ + ((layer * pages_ + page) * spec_.kv_heads + kv_head) * head_bytes(spec_);
}

void* KvPool::values(int layer, int64_t page, int kv_head) const {
  return static_cast<char*>(keys(layer, page, kv_head)) + head_bytes(spec_) / 2;
}

void ragged_positions(const Ragged& ragged, std::span<int32_t> out) {
  SYRINX_CHECK(static_cast<int64_t>(out.size()) == ragged.rows(), "[ragged_positions] ",
               ragged.rows(), " rows into ", out.size());
  for (int64_t b = 0; b < ragged.sequences(); ++b) {
    int32_t position = ragged.first_position(b);
    SYRINX_CHECK(position >= 0, "[ragged_positions] sequence ", b, " has more rows than positions");
    for (int32_t i = ragged.row_begin[b]; i < ragged.row_begin[b + 1]; ++i) out[i] = position++;
  }
}

void write_kv(StepContext& ctx, const HeadsView& k, const HeadsView& v, const KvPool& pool,
              int layer, const Ragged& ragged) {
  check_heads("write_kv", k);
  check_heads("write_kv", v);
  const KvSpec& s = pool.spec();
  check_ragged("write_kv", ragged, pool, layer, k.count());
  SYRINX_CHECK(v.count() == k.count() && k.heads == s.kv_heads && v.heads == s.kv_heads &&
                   k.dim == s.head_dim && v.dim == s.head_dim,
               "[write_kv] k of ", k.heads, " x ", k.dim, " and v of ", v.heads, " x ", v.dim,
               " for a pool of ", s.kv_heads, " x ", s.head_dim);
  for (int64_t b = 0; b < ragged.sequences(); ++b) {
    SYRINX_CHECK(ragged.first_position(b) >= 0, "[write_kv] sequence ", b,
                 " has more rows than positions");
    if (ragged.row_begin[b] < ragged.row_begin[b + 1])
      check_pages("write_kv", ragged, pool, b, ragged.first_position(b));
  }
  const auto write = cpu::has_avx2() ? &avx2::write_kv_row : &ref::write_kv_row;
  const int64_t grain = std::max<int64_t>(1, 8192 / (int64_t{s.kv_heads} * s.head_dim));
  ctx.pool.parallel_for(k.count(), grain, [&](int64_t begin, int64_t end) {
    int64_t b = 0;
    for (int64_t i = begin; i < end; ++i) {
      while (ragged.row_begin[b + 1] <= i) ++b;
      const int64_t position = ragged.first_position(b) + i - ragged.row_begin[b];
      const int32_t page =
          ragged.page_table[b * ragged.max_pages + (position / kRows) % ragged.max_pages];
      for (int h = 0; h < s.kv_heads; ++h)
        write({k.row(i) + int64_t{h} * s.head_dim, v.row(i) + int64_t{h} * s.head_dim,
               static_cast<char*>(pool.keys(layer, page, h)), s.head_dim,
               static_cast<int>(position % kRows), s.dtype});
    }
  });
}

void paged_attention(StepContext& ctx, const HeadsView& q, const KvPool& pool, int layer,
                     const Ragged& ragged, const AttentionSpec& spec, const View& out) {
  check_heads("paged_attention", q);
  const KvSpec& s = pool.spec();
  check_ragged("paged_attention", ragged, pool, layer, q.count());
  SYRINX_CHECK(q.dim == s.head_dim && q.heads % s.kv_heads == 0, "[paged_attention] q of ", q.heads,
               " x ", q.dim, " for a pool of ", s.kv_heads, " x ", s.head_dim);
  expect_shape("paged_attention", out, {q.count(), int64_t{q.heads} * q.dim});

  // Heads that share a kv head are cut evenly when they are more than one tile holds.
  const int shared = q.heads / s.kv_heads;
  int parts = 1;
  while (shared % parts != 0 || shared / parts > AttentionTile::kMaxVectors) ++parts;
  const int group = shared / parts;
  const int tile_rows = AttentionTile::kMaxVectors / group;
  const int64_t lanes = int64_t{s.kv_heads} * parts;

  const Arena::Mark mark(ctx.arena);
  int32_t* tiles = ctx.arena.take({ragged.sequences() + 1}, DType::kI32).i32();
  tiles[0] = 0;
  for (int64_t b = 0; b < ragged.sequences(); ++b) {
    const int32_t rows = ragged.row_begin[b + 1] - ragged.row_begin[b];
    tiles[b + 1] = tiles[b] + (rows + tile_rows - 1) / tile_rows;
    SYRINX_CHECK(rows >= 0 && ragged.first_position(b) >= 0, "[paged_attention] sequence ", b,
                 " has ", rows, " rows and ", ragged.kv_len[b], " positions");
    if (rows == 0) continue;
    const int64_t seen = spec.window ? int64_t{ragged.first_position(b)} + 1 - spec.window : 0;
    check_pages("paged_attention", ragged, pool, b, std::max<int64_t>(seen, 0));
  }
  const auto attend = cpu::has_avx2() ? &avx2::attend : &ref::attend;
  float* to = out.f32();
  AttentionTile common;
  common.q_stride = q.stride();
  common.out_stride = out.shape[1];
  common.group = group;
  common.dim = s.head_dim;
  common.page_bytes = static_cast<int64_t>(s.kv_heads * head_bytes(s));
  common.max_pages = ragged.max_pages;
  common.dtype = s.dtype;
  common.scale = spec.scale;
  common.window = spec.window;
  common.causal = spec.causal;
  const auto head = [&](int64_t lane) {
    return static_cast<const char*>(pool.keys(layer, 0, static_cast<int>(lane / parts)));
  };
  ctx.pool.parallel_for(tiles[ragged.sequences()] * lanes, 1, [&](int64_t begin, int64_t end) {
    int64_t b = 0, b_next = 0;
    for (int64_t item = begin; item < end; ++item) {
      const int64_t index = item / lanes, lane = item % lanes;
      while (tiles[b + 1] <= index) ++b;
      const int64_t skip = (index - tiles[b]) * tile_rows;
      const int64_t row = ragged.row_begin[b] + skip;
      const int64_t column = lane * group * s.head_dim;
      AttentionTile tile = common;
      tile.q = q.row(row) + column;
      tile.out = to + row * out.shape[1] + column;
      tile.rows = static_cast<int>(std::min<int64_t>(tile_rows, ragged.row_begin[b + 1] - row));
      tile.position = ragged.first_position(b) + skip;
      tile.kv_len = ragged.kv_len[b];
      tile.head = head(lane);
      tile.table = ragged.page_table.data() + b * ragged.max_pages;
      if (item + 1 < end) {
        const int64_t index_next = (item + 1) / lanes;
        while (tiles[b_next + 1] <= index_next) ++b_next;
        tile.next_head = head((item + 1) % lanes);
        tile.next_table = ragged.page_table.data() + b_next * ragged.max_pages;
        const int64_t from = int64_t{ragged.first_position(b_next)} + 1 - spec.window;
        tile.next_page = spec.window && from > 0 ? from / kRows : 0;
        tile.next_end = KvPool::pages_for(ragged.kv_len[b_next]);
      }
      attend(tile);
    }
  });
}

}  // namespace syrinx
