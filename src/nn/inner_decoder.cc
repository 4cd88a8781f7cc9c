#include "nn/inner_decoder.h"

#include <algorithm>

#include "kernels/copy.h"
#include "nn/cache_type.h"

namespace syrinx {

InnerDecoder::InnerDecoder(const DecoderConfig& config, const Weights& weights, WeightType type,
                           int64_t positions)
    : kv_(config.kv_spec(short_cache_type(type))), pages_each_(KvPool::pages_for(positions)) {
  sets_.emplace_back(config, weights, type);
}

InnerDecoder::InnerDecoder(const DecoderConfig& config, const Weights& sets, WeightType type,
                           std::vector<int> schedule)
    : schedule_(std::move(schedule)),
      kv_(config.kv_spec(short_cache_type(type))),
      pages_each_(KvPool::pages_for(std::ssize(schedule_))) {
  SYRINX_CHECK(!schedule_.empty() && std::ranges::min(schedule_) >= 0,
               "[inner_decoder] invalid schedule of ", schedule_.size(), " calls");
  const int count = std::ranges::max(schedule_) + 1;
  sets_.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) sets_.emplace_back(config, sets.scope(std::to_string(i)), type);
}

void InnerDecoder::move_to(Device device) { syrinx::move_to(device, sets_); }

size_t InnerDecoder::bytes() const { return weight_bytes(sets_); }

size_t InnerDecoder::scratch_bytes(int emits) const {
  return KvPool::page_bytes(kv_) * static_cast<size_t>(pages_each_ * std::max(emits, 1));
}

void InnerDecoder::run(StepContext& ctx, int k, const View& x, const View& scratch,
                       const PackedLinear& head, const View& out) const {
  const int32_t rows = k == 1 && schedule_.empty() ? 2 : 1;
  const Decoder& decoder = sets_[schedule_.empty() ? 0 : schedule_[static_cast<size_t>(k)]];
  const int64_t emits = x.shape[0] / rows;
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const std::span<int32_t> row_begin = take_array<int32_t>(ctx, emits + 1),
                           kv_len = take_array<int32_t>(ctx, emits),
                           last = take_array<int32_t>(ctx, emits),
                           pages = take_array<int32_t>(ctx, emits * pages_each_);
  for (size_t i = 0; i < pages.size(); ++i) pages[i] = static_cast<int32_t>(i);
  row_begin[0] = 0;
  for (int32_t e = 0; e < emits; ++e) {
    row_begin[e + 1] = (e + 1) * rows;
    kv_len[e] = k + 1;
    last[e] = row_begin[e + 1] - 1;
  }
  const KvPool kv(kv_, emits * pages_each_, scratch);
  decoder.forward(ctx, x, {row_begin, kv_len, pages, static_cast<int>(pages_each_)}, kv);
  decoder.norm_rows(ctx, x, last, head, out);
}

View side_by_side(StepContext& ctx, const View& first, const View& second) {
  const int64_t count = first.shape[0], width = first.shape[1];
  const View both = ctx.arena.take({2 * count, width}, DType::kF32);
  const std::span<CopySpan> copies = take_array<CopySpan>(ctx, 2 * count);
  for (int64_t e = 0; e < count; ++e) {
    copies[2 * e] = {first.f32() + e * width, both.f32() + 2 * e * width, width};
    copies[2 * e + 1] = {second.f32() + e * width, both.f32() + (2 * e + 1) * width, width};
  }
  copy_spans(ctx, copies);
  return both;
}

}  // namespace syrinx
