#include "nn/stream_decoder.h"

#include <algorithm>
#include <list>
#include <mutex>
#include <utility>

#include "base/float16.h"

namespace syrinx {
namespace {

constexpr int64_t kTurns = 32;  // positions are shifted back after this many ring lengths

int64_t ring_pages(const DecoderConfig& config, int64_t max_rows) {
  return KvPool::pages_for(config.window + max_rows + KvPool::kPageRows);
}

DecoderConfig with_angles(DecoderConfig config, int64_t max_rows) {
  SYRINX_CHECK(config.window >= 1 && config.causal && max_rows >= 1,
               "[stream_decoder] must be causal with a window; window ", config.window, ", ",
               max_rows, " rows");
  config.rope_positions = (kTurns + 1) * ring_pages(config, max_rows) * KvPool::kPageRows;
  return config;
}

}  // namespace

StreamDecoder::StreamDecoder(const DecoderConfig& config, const Weights& weights, WeightType type,
                             int max_rows, DType cache)
    : decoder_(with_angles(config, max_rows), weights, type), max_rows_(max_rows), cache_(cache) {
  SYRINX_CHECK(cache == DType::kF32 || cache == DType::kF16,
               "[stream_decoder] keys are f32 or f16, not ", dtype_name(cache));
  const int64_t pages = ring_pages(config, max_rows);
  for (int32_t page = 0; page < pages; ++page) ring_.push_back(page);
  turn_ = kTurns * pages * KvPool::kPageRows;
  limit_ = turn_ + pages * KvPool::kPageRows;
  if (!decoder_.config().rotary) return;
  turn_cos_.resize(static_cast<size_t>(decoder_.config().rope.dim) / 2);
  turn_sin_.resize(turn_cos_.size());
  decoder_.rope_table().angles(turn_, turn_cos_.data(), turn_sin_.data());
}

/// Pools on a GPU, each for several streams, so that one launch serves many streams. Any thread.
class StreamPages : public std::enable_shared_from_this<StreamPages> {
 public:
  StreamPages(const KvSpec& spec, Device device, int pages_each)
      : spec_(spec), device_(device), pages_each_(pages_each) {}

  std::shared_ptr<StreamPageRange> open();
  int32_t pages_each() const { return pages_each_; }
  void close(const KvPool* pool, int32_t first_page) {
    const std::lock_guard lock(mutex_);
    free_.emplace_back(pool, first_page);
  }

 private:
  static constexpr size_t kPoolBytes = size_t{256} << 20;
  static constexpr int64_t kMostStreams = 64;  // streams per pool

  KvSpec spec_;
  Device device_;
  int32_t pages_each_;
  std::mutex mutex_;
  std::list<KvPool> pools_;
  std::vector<std::pair<const KvPool*, int32_t>> free_;
};

/// The pages of a stream. The destructor returns them to the pool.
class StreamPageRange {
 public:
  StreamPageRange(std::shared_ptr<StreamPages> pages, const KvPool* shared, int32_t page)
      : owner(std::move(pages)), pool(shared), first_page(page) {}
  ~StreamPageRange() { owner->close(pool, first_page); }
  StreamPageRange(const StreamPageRange&) = delete;
  StreamPageRange& operator=(const StreamPageRange&) = delete;

  const std::shared_ptr<StreamPages> owner;
  const KvPool* const pool;
  const int32_t first_page;
};

std::shared_ptr<StreamPageRange> StreamPages::open() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) {
    const size_t bytes = KvPool::page_bytes(spec_) * static_cast<size_t>(pages_each_);
    const auto streams =
        std::clamp<int64_t>(static_cast<int64_t>(kPoolBytes / bytes), 1, kMostStreams);
    pools_.emplace_back(spec_, streams * pages_each_, device_);
    for (int64_t i = streams - 1; i >= 0; --i) {
      free_.emplace_back(&pools_.back(), static_cast<int32_t>(i * pages_each_));
    }
  }
  const auto [pool, first_page] = free_.back();
  free_.pop_back();
  return std::make_shared<StreamPageRange>(shared_from_this(), pool, first_page);
}

const KvPool& StreamKv::pool() const { return page_range_ ? *page_range_->pool : own_; }
int32_t StreamKv::first_page() const { return page_range_ ? page_range_->first_page : 0; }

StreamKv StreamKv::clone() const {
  StreamKv copy;
  if (page_range_) {
    copy.page_range_ = page_range_->owner->open();
    for (int32_t i = 0; i < page_range_->owner->pages_each(); ++i) {
      copy.pool().copy_page(pool(), first_page() + i, copy.first_page() + i);
    }
  } else {
    copy.own_ = KvPool(own_.spec(), own_.pages());
    const int64_t used = std::min(own_.pages(), KvPool::pages_for(position_));
    for (int64_t page = 0; page < used; ++page) copy.own_.copy_page(own_, page, page);
  }
  copy.position_ = position_;
  return copy;
}

void StreamDecoder::move_to(Device device) {
  decoder_.move_to(device);
  pages_ = std::make_shared<StreamPages>(kv_spec(), device, static_cast<int>(ring_.size()));
}

StreamKv StreamDecoder::open() const {
  StreamKv kv;
  if (pages_) {
    kv.page_range_ = pages_->open();
  } else {
    kv.own_ = KvPool(kv_spec(), static_cast<int64_t>(ring_.size()));
  }
  return kv;
}

int64_t StreamDecoder::room(StepContext& ctx, StreamKv& kv) const {
  if (kv.position_ >= limit_) turn_back(ctx, kv);
  return std::min(max_rows_, limit_ - kv.position_);
}

/// Shifts the positions of cached keys back by whole ring lengths. This does not change results,
/// because attention depends only on differences of positions. The shift always happens at the same
/// position, so that calls of any size have the same bits.
void StreamDecoder::turn_back(StepContext& ctx, StreamKv& kv) const {
  kv.position_ -= turn_;
  if (!config().rotary) return;
  if (!pages_) return turn_keys(kv.own_);
  synchronize(ctx);  // seldom, so keys are processed on the host
  const KvPool host(kv_spec(), static_cast<int64_t>(ring_.size()));
  for (const int32_t page : ring_) host.copy_page(kv.pool(), kv.first_page() + page, page);
  turn_keys(host);
  for (const int32_t page : ring_) kv.pool().copy_page(host, page, kv.first_page() + page);
}

void StreamDecoder::turn_keys(const KvPool& pool) const {
  const DecoderConfig& c = config();
  const int64_t half = c.rope.dim / 2, rows = KvPool::kPageRows;
  const bool split = c.rope.layout == RopeLayout::kHalfSplit, wide = cache_ == DType::kF32;
  const float *cos = turn_cos_.data(), *sin = turn_sin_.data();
  for (int layer = 0; layer < c.layers; ++layer) {
    for (const int32_t page : ring_) {
      for (int head = 0; head < c.kv_heads; ++head) {
        void* keys = pool.keys(layer, page, head);  // [head_dim][rows]
        for (int64_t i = 0; i < half * rows; ++i) {
          const int64_t pair = i / rows, row = i % rows;
          const int64_t a = (split ? pair : 2 * pair) * rows + row;
          const int64_t b = (split ? pair + half : 2 * pair + 1) * rows + row;
          if (wide) {
            auto* k = static_cast<float*>(keys);
            const float x = k[a], y = k[b];
            k[a] = x * cos[pair] + y * sin[pair];
            k[b] = y * cos[pair] - x * sin[pair];
          } else {
            auto* k = static_cast<uint16_t*>(keys);
            const float x = f16_to_f32(k[a]), y = f16_to_f32(k[b]);
            k[a] = f32_to_f16(x * cos[pair] + y * sin[pair]);
            k[b] = f32_to_f16(y * cos[pair] - x * sin[pair]);
          }
        }
      }
    }
  }
}

/// Returns one part for each run of adjacent streams that have pages in one pool and the same
/// norms; in ctx.host.
std::span<DecoderPart> StreamDecoder::parts_of(StepContext& ctx,
                                               std::span<const StreamRows> streams) const {
  const auto count = std::ssize(streams);
  const size_t pages = ring_.size();
  const std::span<DecoderPart> parts = take_array<DecoderPart>(ctx, count);
  const std::span<int32_t> row_begin = take_array<int32_t>(ctx, 2 * count);
  const std::span<int32_t> kv_len = take_array<int32_t>(ctx, count);
  const std::span<int32_t> table = take_array<int32_t>(ctx, count * std::ssize(ring_));
  size_t used = 0, rows_at = 0;
  int64_t begin = 0;
  for (size_t i = 0; i < streams.size();) {
    const KvPool* pool = &streams[i].kv->pool();
    const size_t first = i, first_row = rows_at++;
    int32_t rows = 0;
    const View norms = streams[i].mlp_norms;
    for (; i < streams.size() && &streams[i].kv->pool() == pool &&
           streams[i].mlp_norms.data == norms.data;
         ++i) {
      const StreamRows& stream = streams[i];
      SYRINX_CHECK(stream.rows >= 0 && stream.rows <= max_rows_ &&
                       stream.kv->position_ + stream.rows <= limit_,
                   "[stream_decoder] ", stream.rows, " rows are too many at position ",
                   stream.kv->position_);
      rows += static_cast<int32_t>(stream.rows);
      row_begin[rows_at++] = rows;
      kv_len[i] = static_cast<int32_t>(stream.kv->position_ + stream.rows);
      for (size_t p = 0; p < pages; ++p) {
        table[i * pages + p] = stream.kv->first_page() + ring_[p];
      }
    }
    parts[used++] = {begin,
                     {row_begin.subspan(first_row, i - first + 1), kv_len.subspan(first, i - first),
                      table.subspan(first * pages, (i - first) * pages), static_cast<int>(pages)},
                     pool,
                     norms};
    begin += rows;
  }
  return parts.first(used);
}

void StreamDecoder::forward(StepContext& ctx, const View& x, std::span<const StreamRows> streams,
                            const DecoderMemory* memory) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  decoder_.forward(ctx, x, parts_of(ctx, streams), 0, {0, config().layers}, memory);
  for (const StreamRows& stream : streams) stream.kv->position_ += stream.rows;
}

}  // namespace syrinx
