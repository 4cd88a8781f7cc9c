#include "nn/stream_decoder.h"

#include <algorithm>
#include <new>

namespace syrinx {
namespace {

constexpr int64_t kTurns = 32;  // of the ring, before positions are turned back

int64_t ring_pages(const DecoderConfig& config, int64_t max_rows) {
  return KvPool::pages_for(config.window + max_rows + KvPool::kPageRows);
}

DecoderConfig with_angles(DecoderConfig config, int64_t max_rows) {
  SYRINX_CHECK(config.window >= 1 && config.causal && max_rows >= 1, "[stream_decoder] window ",
               config.window, ", ", max_rows, " rows");
  config.rope_positions = (kTurns + 1) * ring_pages(config, max_rows) * KvPool::kPageRows;
  return config;
}

}  // namespace

StreamDecoder::StreamDecoder(DecoderConfig config, const Weights& weights, WeightType type,
                             int max_rows)
    : decoder_(with_angles(config, max_rows), weights, type), max_rows_(max_rows) {
  const int64_t pages = ring_pages(config, max_rows);
  for (int32_t page = 0; page < pages; ++page) ring_.push_back(page);
  turn_ = kTurns * pages * KvPool::kPageRows;
  limit_ = turn_ + pages * KvPool::kPageRows;
}

StreamKv StreamKv::clone() const {
  StreamKv copy;
  copy.pool_ = pool_.clone();
  copy.position_ = position_;
  return copy;
}

StreamKv StreamDecoder::open() const {
  StreamKv kv;
  kv.pool_ = KvPool(kv_spec(), static_cast<int64_t>(ring_.size()));
  return kv;
}

int64_t StreamDecoder::room(StreamKv& kv) const {
  if (kv.position_ >= limit_) turn_back(kv);
  return std::min(max_rows_, limit_ - kv.position_);
}

/// Attention sees differences of positions only: the kept keys go back by whole turns of the ring,
/// always at the same position, so that calls of any size give the same bits.
void StreamDecoder::turn_back(StreamKv& kv) const {
  const DecoderConfig& c = config();
  kv.position_ -= turn_;
  if (!c.rotary) return;
  const int64_t half = c.rope.dim / 2, rows = KvPool::kPageRows;
  const bool split = c.rope.layout == RopeLayout::kHalfSplit;
  const RopeTable& table = decoder_.rope_table();
  const float* cos = table.cos().f32() + turn_ * half;
  const float* sin = table.sin().f32() + turn_ * half;
  for (int layer = 0; layer < c.layers; ++layer) {
    for (const int32_t page : ring_) {
      for (int head = 0; head < c.kv_heads; ++head) {
        float* keys = static_cast<float*>(kv.pool_.keys(layer, page, head));  // [head_dim][rows]
        for (int64_t i = 0; i < half * rows; ++i) {
          const int64_t pair = i / rows, row = i % rows;
          float& a = keys[(split ? pair : 2 * pair) * rows + row];
          float& b = keys[(split ? pair + half : 2 * pair + 1) * rows + row];
          const float x = a, y = b;
          a = x * cos[pair] + y * sin[pair];
          b = y * cos[pair] - x * sin[pair];
        }
      }
    }
  }
}

void StreamDecoder::forward(StepContext& ctx, const View& x,
                            std::span<const StreamRows> streams) const {
  const Arena::Mark mark(ctx.arena);
  const auto count = static_cast<int64_t>(streams.size());
  auto* parts = static_cast<DecoderPart*>(
      ctx.arena.take({count * static_cast<int64_t>(sizeof(DecoderPart))}, DType::kU8).data);
  int32_t* numbers = ctx.arena.take({3 * count}, DType::kI32).i32();
  int64_t begin = 0;
  for (int64_t i = 0; i < count; ++i) {
    const StreamRows& stream = streams[i];
    SYRINX_CHECK(stream.rows >= 0 && stream.rows <= max_rows_ &&
                     stream.kv->position_ + stream.rows <= limit_,
                 "[stream_decoder] ", stream.rows, " rows at position ", stream.kv->position_);
    int32_t* at = numbers + 3 * i;
    at[0] = 0;
    at[1] = static_cast<int32_t>(stream.rows);
    at[2] = static_cast<int32_t>(stream.kv->position_ + stream.rows);
    new (parts + i) DecoderPart{
        begin, {{at, 2}, {at + 2, 1}, ring_, static_cast<int>(ring_.size())}, &stream.kv->pool_};
    begin += stream.rows;
  }
  decoder_.forward(ctx, x, {parts, streams.size()});
  for (const StreamRows& stream : streams) stream.kv->position_ += stream.rows;
}

}  // namespace syrinx
