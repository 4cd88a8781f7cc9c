#include "codec/whisper_block.h"

#include <cmath>
#include <numeric>

#include "kernels/activation.h"

namespace syrinx {

PackedConv1d load_whisper_conv(const Weights& weights, int64_t out, int64_t in, WeightType type,
                               WeightType narrow) {
  return PackedConv1d::pack(weights.take("weight", {out, in, 3}), weights.take("bias", {out}), 1,
                            type == WeightType::kF32 ? type : narrow);
}

WhisperBlock::Past::Past(int64_t layers, int64_t heads, int64_t dim, int64_t most_rows, DType type,
                         Device device)
    : pool({static_cast<int>(layers), static_cast<int>(heads), static_cast<int>(dim), type},
           KvPool::pages_for(most_rows), device),
      pages(static_cast<size_t>(KvPool::pages_for(most_rows))) {
  std::iota(pages.begin(), pages.end(), 0);
}

WhisperBlock::WhisperBlock(const Weights& w, int64_t width, int64_t heads, int64_t ffn,
                           const WhisperBlockNames& names, WeightType type)
    : width_(width),
      heads_(heads),
      ffn_(ffn),
      before_attention_(w.scope(names.attention_norm), width, kNormEps),
      before_mlp_(w.scope(names.mlp_norm), width, kNormEps) {
  const LinearPart parts[] = {take_linear(w, names.q, width, width, true),
                              take_linear(w, names.k, width, width, false),
                              take_linear(w, names.v, width, width, true)};
  qkv_ = PackedLinear::pack(parts, type);
  out_ = load_linear(w, names.o, width, width, true, type);
  up_ = load_linear(w, names.up, ffn, width, true, type);
  down_ = load_linear(w, names.down, width, ffn, true, type);
}

void WhisperBlock::run(StepContext& ctx, const Past& past, int layer, int64_t seen,
                       const View& x) const {
  const Arena::Mark mark(ctx.arena);
  const int64_t rows = x.shape[0];
  const int heads = static_cast<int>(heads_), dim = static_cast<int>(width_ / heads_);
  const View normed = ctx.arena.take({rows, width_}, DType::kF32);
  const View qkv = ctx.arena.take({rows, 3 * width_}, DType::kF32);
  const View mixed = ctx.arena.take({rows, width_}, DType::kF32);
  const View wide = ctx.arena.take({rows, ffn_}, DType::kF32);
  const int32_t row_begin[] = {0, static_cast<int32_t>(rows)};
  const int32_t kv_len[] = {static_cast<int32_t>(past.rows)};
  const int32_t begin[] = {0}, end[] = {static_cast<int32_t>(seen)};
  const Ragged ragged =
      resident(ctx, {row_begin, kv_len, past.pages, static_cast<int>(past.pages.size())});
  const AttentionSpec spec{1.f / std::sqrt(static_cast<float>(dim)), 0, false, begin, end};
  before_attention_(ctx, x, normed);
  linear(ctx, qkv_, normed, qkv);
  write_and_attend(ctx, {qkv, 0, heads, dim}, {qkv, width_, heads, dim},
                   {qkv, 2 * width_, heads, dim}, past.pool, layer, ragged, spec, mixed);
  linear_add(ctx, out_, mixed, x);
  before_mlp_(ctx, x, normed);
  linear(ctx, up_, normed, wide);
  activate(ctx, Activation::kGelu, wide, wide);
  linear_add(ctx, down_, wide, x);
}

void WhisperBlock::move_to(Device device) {
  syrinx::move_to(device, before_attention_, before_mlp_, qkv_, out_, up_, down_);
}

size_t WhisperBlock::bytes() const {
  return qkv_.bytes() + out_.bytes() + up_.bytes() + down_.bytes();
}

}  // namespace syrinx
