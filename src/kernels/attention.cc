#include "kernels/attention.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

#include "base/cpu_features.h"
#include "kernels/attention_impl.h"
#include "kernels/cuda/attention_order.h"
#include "kernels/cuda/kernels.h"
#include "kernels/write_kv_check.h"
#include "tensor/device.h"

namespace syrinx {
namespace {

constexpr int kRows = KvPool::kPageRows;
constexpr size_t kHuge = 2u << 20;

size_t head_bytes(const KvSpec& s) {
  return static_cast<size_t>(2 * kv_part_bytes(s.head_dim, s.dtype));
}

void check_ragged(const char* caller, const Ragged& r, const KvPool& pool, int layer,
                  int64_t rows) {
  const int64_t b = r.sequences();
  SYRINX_CHECK(static_cast<int64_t>(r.row_begin.size()) == b + 1 && r.row_begin[0] == 0, "[",
               caller, "] row_begin must begin with 0 and have ", b + 1, " numbers");
  SYRINX_CHECK(r.rows() == rows, "[", caller, "] ", rows, " rows, but row_begin ends at ",
               r.rows());
  SYRINX_CHECK(static_cast<int64_t>(r.page_table.size()) == b * r.max_pages, "[", caller,
               "] page table of ", r.page_table.size(), ", expected ", b, " x ", r.max_pages);
  SYRINX_CHECK(layer >= 0 && layer < pool.spec().layers, "[", caller, "] layer ", layer,
               " must be below ", pool.spec().layers);
}

// Throws InternalError unless the pages of a call exist. A missing page is a fault of the page
// manager.
void check_pages(const char* caller, const Ragged& r, const KvPool& pool, int64_t b,
                 int64_t from_position) {
  const int32_t* table = r.page_table.data() + b * r.max_pages;
  const int64_t first = from_position / kRows, last = (int64_t{r.kv_len[b]} - 1) / kRows;
  SYRINX_CHECK(last - first < r.max_pages, "[", caller, "] sequence ", b, " needs positions ",
               from_position, "..", r.kv_len[b], ", more than ", r.max_pages, " pages hold");
  for (int64_t p = first; p <= last; ++p) {
    const int32_t page = table[p % r.max_pages];
    SYRINX_CHECK(page >= 0 && page < pool.pages(), "[", caller, "] sequence ", b, " position ",
                 p * kRows, ": page ", page, " must be below ", pool.pages());
  }
}

void check_spec(const KvSpec& spec, int64_t pages) {
  SYRINX_CHECK(spec.layers > 0 && spec.kv_heads > 0 && pages > 0, "[kv_pool] ", spec.layers,
               " layers, ", spec.kv_heads, " heads, ", pages, " pages: all must be above 0");
  SYRINX_CHECK(
      spec.head_dim > 0 && spec.head_dim % 8 == 0 && spec.head_dim <= AttentionTile::kMaxDim,
      "[kv_pool] head size ", spec.head_dim, " is not a multiple of 8 up to ",
      AttentionTile::kMaxDim);
  const bool known = spec.dtype == DType::kF32 || spec.dtype == DType::kF16 ||
                     spec.dtype == DType::kBF16 || spec.dtype == DType::kI8;
  SYRINX_CHECK(known, "[kv_pool] unsupported cache type ", dtype_name(spec.dtype));
}

}  // namespace

KvPool::KvPool(const KvSpec& spec, int64_t pages, Device device)
    : spec_(spec), pages_(pages), device_(device) {
  check_spec(spec, pages);
  bytes_ = page_bytes(spec) * static_cast<size_t>(pages);
  if (device != Device::kCpu) {
    memory_ = static_cast<char*>(device_allocate(device, bytes_));
    return;
  }
  void* memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  if (bytes_ >= 8 * kHuge) madvise(memory, bytes_, MADV_HUGEPAGE);
  memory_ = static_cast<char*>(memory);
}

KvPool::KvPool(const KvSpec& spec, int64_t pages, const View& memory)
    : spec_(spec), pages_(pages), device_(memory.device), memory_(static_cast<char*>(memory.data)) {
  check_spec(spec, pages);
  SYRINX_CHECK(memory.bytes() >= page_bytes(spec) * static_cast<size_t>(pages), "[kv_pool] ",
               memory.bytes(), " bytes are too few for ", pages, " pages of ", page_bytes(spec));
}

KvPool::~KvPool() {
  if (bytes_ == 0) return;
  if (device_ == Device::kCpu) {
    munmap(memory_, bytes_);
  } else {
    device_free(device_, memory_);
  }
}

KvPool::KvPool(KvPool&& other) noexcept { *this = std::move(other); }

KvPool& KvPool::operator=(KvPool&& other) noexcept {
  std::swap(spec_, other.spec_);
  std::swap(pages_, other.pages_);
  std::swap(bytes_, other.bytes_);
  std::swap(device_, other.device_);
  std::swap(memory_, other.memory_);
  return *this;
}

size_t KvPool::page_bytes(const KvSpec& spec) {
  return static_cast<size_t>(spec.layers) * spec.kv_heads * head_bytes(spec);
}

namespace {

void copy_bytes(void* to, Device to_device, const void* from, Device from_device, size_t bytes) {
  if (to_device == Device::kCpu && from_device == Device::kCpu) {
    std::memcpy(to, from, bytes);
    return;
  }
  const Shape shape{static_cast<int64_t>(bytes)};
  device_copy({const_cast<void*>(from), DType::kU8, shape, from_device},
              {to, DType::kU8, shape, to_device});
}

}  // namespace

KvPool KvPool::copy_to(Device device) const {
  KvPool copy(spec_, pages_, device);
  copy_bytes(copy.memory_, device, memory_, device_,
             page_bytes(spec_) * static_cast<size_t>(pages_));
  return copy;
}

void KvPool::copy_page(const KvPool& pool, int64_t from, int64_t to) const {
  const size_t bytes = static_cast<size_t>(spec_.kv_heads) * head_bytes(spec_);
  for (int layer = 0; layer < spec_.layers; ++layer) {
    copy_bytes(keys(layer, to, 0), device_, pool.keys(layer, from, 0), pool.device_, bytes);
  }
}

void* KvPool::keys(int layer, int64_t page, int kv_head) const {
  return memory_ + ((layer * pages_ + page) * spec_.kv_heads + kv_head) * head_bytes(spec_);
}

void* KvPool::values(int layer, int64_t page, int kv_head) const {
  return static_cast<char*>(keys(layer, page, kv_head)) + head_bytes(spec_) / 2;
}

void copy_cached_rows(StepContext& ctx, std::span<const CachedRowCopy> copies, int64_t pages,
                      const KvPool& pool) {
  const KvSpec& s = pool.spec();
  SYRINX_CHECK(s.layers == 1 && (s.dtype == DType::kF32 || s.dtype == DType::kF16),
               "[copy_cached_rows] unsupported pool: ", s.layers, " layers of ",
               dtype_name(s.dtype));
  for (const CachedRowCopy& c : copies) {
    SYRINX_CHECK(c.from >= 0 && c.to >= 0 && std::max(c.from, c.to) + pages <= pool.pages() &&
                     c.from_row >= 0 && c.to_row >= 0 && std::max(c.from_row, c.to_row) < kRows,
                 "[copy_cached_rows] row ", c.from_row, " of page ", c.from, " or row ", c.to_row,
                 " of page ", c.to, " does not exist");
  }
  if (pool.device() == Device::kCuda) return cuda::copy_cached_rows(ctx, copies, pages, pool);
  const size_t size = dtype_size(s.dtype), rows = size_t{kRows};
  const auto dim = static_cast<size_t>(s.head_dim);
  for (const CachedRowCopy& c : copies) {
    const auto in = static_cast<size_t>(c.from_row), out = static_cast<size_t>(c.to_row);
    for (int64_t page = 0; page < pages; ++page) {
      for (int head = 0; head < s.kv_heads; ++head) {
        const char* keys = static_cast<const char*>(pool.keys(0, c.from + page, head)) + in * size;
        char* to_keys = static_cast<char*>(pool.keys(0, c.to + page, head)) + out * size;
        for (size_t d = 0; d < dim; ++d)
          std::memcpy(to_keys + d * rows * size, keys + d * rows * size, size);
        std::memcpy(static_cast<char*>(pool.values(0, c.to + page, head)) + out * dim * size,
                    static_cast<const char*>(pool.values(0, c.from + page, head)) + in * dim * size,
                    dim * size);
      }
    }
  }
}

Ragged resident(StepContext& ctx, const Ragged& ragged) {
  Ragged out = ragged;
  if (ctx.device == Device::kCuda) out.on_device = cuda::upload_ragged(ctx, ragged);
  return out;
}

int64_t attention_groups(const Ragged& ragged, const AttentionSpec& spec) {
  int64_t most = 0;
  for (int64_t b = 0; b < ragged.sequences(); ++b) {
    if (ragged.row_begin[b] == ragged.row_begin[b + 1]) continue;
    const int64_t begin = spec.begin.empty() ? 0 : spec.begin[b];
    const int64_t end = spec.end.empty() ? INT64_MAX : spec.end[b];
    const cuda::Seen first = cuda::seen(ragged.first_position(b), ragged.kv_len[b], spec.window,
                                        spec.causal, begin, end);
    const int64_t last = std::min<int64_t>(ragged.kv_len[b], end);
    most = std::max(most, cuda::group_of(last - 1) - cuda::group_of(first.first) + 1);
  }
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(most)));
}

void ragged_positions(const Ragged& ragged, std::span<int32_t> out) {
  SYRINX_CHECK(static_cast<int64_t>(out.size()) == ragged.rows(), "[ragged_positions] ",
               ragged.rows(), " rows, but `out` has ", out.size());
  for (int64_t b = 0; b < ragged.sequences(); ++b) {
    int32_t position = ragged.first_position(b);
    SYRINX_CHECK(position >= 0, "[ragged_positions] sequence ", b,
                 " has more rows than cached positions");
    for (int32_t i = ragged.row_begin[b]; i < ragged.row_begin[b + 1]; ++i) out[i] = position++;
  }
}

void check_write_kv(const char* caller, const HeadsView& k, const HeadsView& v, const KvPool& pool,
                    int layer, const Ragged& ragged) {
  check_heads(caller, k);
  check_heads(caller, v);
  const KvSpec& s = pool.spec();
  check_ragged(caller, ragged, pool, layer, k.count());
  SYRINX_CHECK(v.count() == k.count() && k.heads == s.kv_heads && v.heads == s.kv_heads &&
                   k.dim == s.head_dim && v.dim == s.head_dim,
               "[", caller, "] k of ", k.heads, " x ", k.dim, " and v of ", v.heads, " x ", v.dim,
               " do not match a pool of ", s.kv_heads, " x ", s.head_dim);
  for (int64_t b = 0; b < ragged.sequences(); ++b) {
    SYRINX_CHECK(ragged.first_position(b) >= 0, "[", caller, "] sequence ", b,
                 " has more rows than cached positions");
    if (ragged.row_begin[b] < ragged.row_begin[b + 1])
      check_pages(caller, ragged, pool, b, ragged.first_position(b));
  }
}

namespace {

/// Writes rows of a batch to the cache.
class KvWriter {
 public:
  KvWriter(const char* caller, const HeadsView& k, const HeadsView& v, const KvPool& pool,
           int layer, const Ragged& ragged)
      : k_(k), v_(v), pool_(pool), layer_(layer), ragged_(ragged) {
    check_write_kv(caller, k, v, pool, layer, ragged);
  }

  /// Returns how many of the rows [i, end) of the batch, of sequence `b`, are in the page of row i.
  int64_t together(int64_t b, int64_t i, int64_t end) const {
    return std::min(kRows - position(b, i) % kRows, std::min<int64_t>(end, rows_end(b)) - i);
  }

  /// Writes kv head `h` of `count` rows of sequence `b` from row `i` of the batch on, in one page.
  void write(int64_t b, int64_t i, int64_t count, int h) const {
    const int64_t at = position(b, i), column = int64_t{h} * k_.dim;
    const int32_t page =
        ragged_.page_table[b * ragged_.max_pages + (at / kRows) % ragged_.max_pages];
    write_({k_.row(i) + column, v_.row(i) + column, k_.stride(), v_.stride(),
            static_cast<char*>(pool_.keys(layer_, page, h)), k_.dim, static_cast<int>(at % kRows),
            static_cast<int>(count), pool_.spec().dtype});
  }

 private:
  int64_t position(int64_t b, int64_t i) const {
    return ragged_.first_position(b) + i - ragged_.row_begin[b];
  }
  int64_t rows_end(int64_t b) const { return ragged_.row_begin[b + 1]; }

  const HeadsView &k_, &v_;
  const KvPool& pool_;
  int layer_;
  const Ragged& ragged_;
  void (*write_)(const KvRows&) = cpu_features().simd() ? &simd::write_kv_rows
                                                        : &ref::write_kv_rows;
};

/// How the rows of a batch are cut into tiles: consecutive rows of one sequence times heads that
/// share a kv head. If a tile is too small for these heads, they are distributed evenly over tiles.
struct Tiling {
  Tiling(const HeadsView& q, const KvPool& pool) {
    const int shared = q.heads / pool.spec().kv_heads;
    while (shared % parts != 0 || shared / parts > AttentionTile::kMaxVectors) ++parts;
    group = shared / parts;
    rows = AttentionTile::kMaxVectors / group;
    lanes = int64_t{pool.spec().kv_heads} * parts;
  }
  int parts = 1;  ///< number of tiles per kv head
  int group = 1;  ///< number of heads per tile
  int rows = 1;   ///< limit of rows per tile
  int64_t lanes = 1;
};

int64_t begin_of(const AttentionSpec& spec, int64_t b) {
  return spec.begin.empty() ? 0 : spec.begin[b];
}
int64_t end_of(const AttentionSpec& spec, int64_t b) {
  return spec.end.empty() ? INT64_MAX : spec.end[b];
}
/// Returns the first position to which any row of the sequence attends.
int64_t first_seen(const Ragged& ragged, const AttentionSpec& spec, int64_t b) {
  const int64_t begin = begin_of(spec, b);
  if (spec.window == 0) return begin;
  return std::max<int64_t>(int64_t{ragged.first_position(b)} + 1 - spec.window, begin);
}

/// Runs attention for all tiles. With a writer, each tile first writes the keys and values of its
/// rows to the cache.
void attend_all(StepContext& ctx, const HeadsView& q, const KvPool& pool, int layer,
                const Ragged& ragged, const AttentionSpec& spec, const View& out,
                const KvWriter* writer) {
  const KvSpec& s = pool.spec();
  const Tiling tiling(q, pool);
  const Arena::Mark mark(ctx.arena);
  int32_t* tiles = ctx.arena.take({ragged.sequences() + 1}, DType::kI32).i32();
  tiles[0] = 0;
  for (int64_t b = 0; b < ragged.sequences(); ++b)
    tiles[b + 1] =
        tiles[b] + (ragged.row_begin[b + 1] - ragged.row_begin[b] + tiling.rows - 1) / tiling.rows;
  const auto attend = cpu_features().simd() ? &simd::attend : &ref::attend;
  float* to = out.f32();
  AttentionTile common;
  common.q_stride = q.stride();
  common.out_stride = out.shape[1];
  common.group = tiling.group;
  common.dim = s.head_dim;
  common.page_bytes = static_cast<int64_t>(s.kv_heads * head_bytes(s));
  common.max_pages = ragged.max_pages;
  common.dtype = s.dtype;
  common.bytes = s.byte_products;
  common.scale = spec.scale;
  common.cap = spec.cap;
  common.window = spec.window;
  common.causal = spec.causal;
#if defined(__x86_64__)
  if (cpu_features().avx512) common.pair_product = &pair_product_avx512;
  if (cpu_features().avx512) common.q8_weights = &q8_weights_avx512;
  if (cpu_features().quick_dots) common.dot_product = &pair_product_avx512bf16;
  if (cpu_features().avx512_vnni) common.word_product = &pair_product_avx512vnni;
  if (cpu_features().avx512_vnni) common.attend_bytes = &attend_bytes_avx512vnni;
#endif
  const int64_t lanes = tiling.lanes;
  const auto head = [&](int64_t lane) {
    return static_cast<const char*>(pool.keys(layer, 0, static_cast<int>(lane / tiling.parts)));
  };
  ctx.pool.parallel_for(tiles[ragged.sequences()] * lanes, 1, [&](int64_t begin, int64_t end) {
    int64_t b = 0, b_next = 0;
    for (int64_t item = begin; item < end; ++item) {
      const int64_t index = item / lanes, lane = item % lanes;
      while (tiles[b + 1] <= index) ++b;
      const int64_t skip = (index - tiles[b]) * tiling.rows;
      const int64_t row = ragged.row_begin[b] + skip;
      const int64_t column = lane * tiling.group * s.head_dim;
      AttentionTile tile = common;
      tile.q = q.row(row) + column;
      tile.out = to + row * out.shape[1] + column;
      tile.rows = static_cast<int>(std::min<int64_t>(tiling.rows, ragged.row_begin[b + 1] - row));
      tile.position = ragged.first_position(b) + skip;
      tile.kv_len = ragged.kv_len[b];
      tile.begin = begin_of(spec, b);
      tile.end = end_of(spec, b);
      if (!spec.slopes.empty()) tile.slopes = spec.slopes.f32() + lane * tiling.group;
      tile.head = head(lane);
      tile.table = ragged.page_table.data() + b * ragged.max_pages;
      if (item + 1 < end) {
        while (tiles[b_next + 1] <= (item + 1) / lanes) ++b_next;
        tile.next_head = head((item + 1) % lanes);
        tile.next_table = ragged.page_table.data() + b_next * ragged.max_pages;
        tile.next_page = first_seen(ragged, spec, b_next) / kRows;
        tile.next_end =
            KvPool::pages_for(std::min<int64_t>(ragged.kv_len[b_next], end_of(spec, b_next)));
      }
      for (int64_t i = row, n; writer && i < row + tile.rows; i += n) {
        n = writer->together(b, i, row + tile.rows);
        writer->write(b, i, n, static_cast<int>(lane));
      }
      attend(tile);
    }
  });
}

}  // namespace

void check_attention(const char* caller, const HeadsView& q, const KvPool& pool, int layer,
                     const Ragged& ragged, const AttentionSpec& spec, const View& out) {
  check_heads(caller, q);
  const KvSpec& s = pool.spec();
  check_ragged(caller, ragged, pool, layer, q.count());
  SYRINX_CHECK(q.dim == s.head_dim && q.heads % s.kv_heads == 0, "[", caller, "] q of ", q.heads,
               " x ", q.dim, " does not match a pool of ", s.kv_heads, " x ", s.head_dim);
  expect_shape(caller, out, {q.count(), int64_t{q.heads} * q.dim});
  SYRINX_CHECK(spec.cap >= 0, "[", caller, "] cap must be at least 0, got ", spec.cap);
  if (!spec.slopes.empty()) expect_shape(caller, spec.slopes, {q.heads});
  SYRINX_CHECK(spec.slopes.empty() || spec.slopes.device == q.rows.device, "[", caller,
               "] slopes on ", device_name(spec.slopes.device), ", but q on ",
               device_name(q.rows.device));
  for (const auto& bounds : {spec.begin, spec.end}) {
    SYRINX_CHECK(bounds.empty() || bounds.size() == ragged.kv_len.size(), "[", caller, "] ",
                 bounds.size(), " bounds, but ", ragged.kv_len.size(), " sequences");
  }
  for (int64_t b = 0; b < ragged.sequences(); ++b) {
    const int32_t rows = ragged.row_begin[b + 1] - ragged.row_begin[b];
    SYRINX_CHECK(rows >= 0 && ragged.first_position(b) >= 0, "[", caller, "] sequence ", b, " has ",
                 rows, " rows, but ", ragged.kv_len[b], " cached positions");
    if (rows == 0) continue;
    const int64_t first = first_seen(ragged, spec, b);
    const int64_t last = std::min<int64_t>(
        spec.causal ? ragged.first_position(b) + 1 : ragged.kv_len[b], end_of(spec, b));
    SYRINX_CHECK(begin_of(spec, b) >= 0 && first < last, "[", caller, "] a row of sequence ", b,
                 " attends to positions [", first, ", ", last, "): empty, or begins below 0");
    check_pages(caller, ragged, pool, b, first);
  }
}

void write_kv(StepContext& ctx, const HeadsView& k, const HeadsView& v, const KvPool& pool,
              int layer, const Ragged& ragged) {
  const KvWriter writer("write_kv", k, v, pool, layer, ragged);
  if (k.rows.device == Device::kCuda) return cuda::write_kv(ctx, k, v, pool, layer, ragged);
  const int64_t grain = std::max<int64_t>(1, 1024 / (int64_t{k.heads} * k.dim));
  ctx.pool.parallel_for(k.count(), grain, [&](int64_t begin, int64_t end) {
    int64_t b = 0;
    for (int64_t i = begin, n; i < end; i += n) {
      while (ragged.row_begin[b + 1] <= i) ++b;
      n = writer.together(b, i, end);
      for (int h = 0; h < k.heads; ++h) writer.write(b, i, n, h);
    }
  });
}

void paged_attention(StepContext& ctx, const HeadsView& q, const KvPool& pool, int layer,
                     const Ragged& ragged, const AttentionSpec& spec, const View& out) {
  check_attention("paged_attention", q, pool, layer, ragged, spec, out);
  if (q.rows.device == Device::kCuda)
    return cuda::paged_attention(ctx, q, pool, layer, ragged, spec, out);
  attend_all(ctx, q, pool, layer, ragged, spec, out, nullptr);
}

void write_and_attend(StepContext& ctx, const HeadsView& q, const HeadsView& k, const HeadsView& v,
                      const KvPool& pool, int layer, const Ragged& ragged,
                      const AttentionSpec& spec, const View& out) {
  check_attention("write_and_attend", q, pool, layer, ragged, spec, out);
  if (q.rows.device == Device::kCuda) {
    const Arena::Mark mark(ctx.arena);
    const Ragged once = ragged.on_device ? ragged : resident(ctx, ragged);
    write_kv(ctx, k, v, pool, layer, once);
    return cuda::paged_attention(ctx, q, pool, layer, once, spec, out);
  }
  // A tile may write the cache rows that it reads only if no other tile reads them.
  const Tiling tiling(q, pool);
  bool own = tiling.parts == 1;
  for (int64_t b = 0; b < ragged.sequences(); ++b)
    own = own && ragged.row_begin[b + 1] - ragged.row_begin[b] <= tiling.rows;
  if (!own) write_kv(ctx, k, v, pool, layer, ragged);
  const KvWriter writer("write_and_attend", k, v, pool, layer, ragged);
  attend_all(ctx, q, pool, layer, ragged, spec, out, own ? &writer : nullptr);
}

}  // namespace syrinx
