#include "codec/row_attention.h"

#include <array>
#include <cmath>
#include <numeric>

namespace syrinx {

RowAttention::RowAttention(int64_t rows, int64_t width, int64_t heads)
    : rows_(rows),
      heads_(static_cast<int>(heads)),
      queries_({rows, width}, DType::kF32),
      kv_({1, heads_, static_cast<int>(width / heads), DType::kF32}, KvPool::pages_for(rows)),
      pages_(static_cast<size_t>(KvPool::pages_for(rows))) {
  std::iota(pages_.begin(), pages_.end(), 0);
}

void RowAttention::put(StepContext& ctx, const PackedLinear& qkv, const View& x, int64_t begin) {
  const int64_t count = x.shape[0], width = queries_.shape()[1];
  const View keys = ctx.arena.take({count, width}, DType::kF32);
  const View values = ctx.arena.take({count, width}, DType::kF32);
  const std::array outs{queries_.view().slice(begin, begin + count), keys, values};
  linear_parts(ctx, qkv, x, outs);
  const std::array<int32_t, 2> row_begin{0, static_cast<int32_t>(count)};
  const std::array<int32_t, 1> kv_len{static_cast<int32_t>(begin + count)};
  write_kv(ctx, all_heads(keys, heads_), all_heads(values, heads_), kv_, 0,
           {row_begin, kv_len, pages_, static_cast<int>(pages_.size())});
}

void RowAttention::see(StepContext& ctx, int64_t begin, const View& out) {
  const int64_t count = out.shape[0], width = queries_.shape()[1];
  const std::array<int32_t, 2> row_begin{0, static_cast<int32_t>(count)};
  const std::array<int32_t, 1> kv_len{static_cast<int32_t>(rows_)};
  AttentionSpec spec;
  spec.scale = 1 / std::sqrt(static_cast<float>(width / heads_));
  spec.causal = false;
  paged_attention(ctx, all_heads(queries_.view().slice(begin, begin + count), heads_), kv_, 0,
                  {row_begin, kv_len, pages_, static_cast<int>(pages_.size())}, spec, out);
}

}  // namespace syrinx
