#include "families/piper/text_encoder.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "kernels/activation.h"
#include "kernels/fixed_dot.h"

namespace syrinx::piper {
namespace {

constexpr int64_t kRows = 64;  // rows whose scores are in memory at the same time

/// Adds the sum of shares[j] * rows[j], for j < count, to out [width], four rows at a time.
void add_rows(const float* shares, const float* rows, int64_t stride, int64_t count, int64_t width,
              float* __restrict out) {
  int64_t j = 0;
  for (; j + 4 <= count; j += 4) {
    const float *a = rows + j * stride, *b = a + stride, *c = b + stride, *d = c + stride;
    const float p = shares[j], q = shares[j + 1], r = shares[j + 2], s = shares[j + 3];
    for (int64_t i = 0; i < width; ++i) out[i] += (p * a[i] + q * b[i]) + (r * c[i] + s * d[i]);
  }
  for (; j < count; ++j) {
    for (int64_t i = 0; i < width; ++i) out[i] += shares[j] * rows[j * stride + i];
  }
}

}  // namespace

TextEncoder::TextEncoder(const VoiceParts& parts) {
  const Shape table = parts.shape("enc_p.emb.weight", 2);
  symbols_ = table[0], hidden_ = table[1];
  table_ = parts.f32("enc_p.emb.weight", table);
  const float scale = std::sqrt(static_cast<float>(hidden_));
  for (int64_t i = 0; i < table.count(); ++i) table_.f32()[i] *= scale;
  const Shape near = parts.shape("enc_p.encoder.attn_layers.0.emb_rel_k", 3);
  if (near[0] != 1 || near[1] % 2 == 0 || hidden_ % near[2] != 0) {
    parts.fail("enc_p.encoder.attn_layers.0.emb_rel_k",
               concat("expected [1, an odd number, a divisor of ", hidden_, "], got ", near.str()));
  }
  window_ = near[1] / 2, heads_ = hidden_ / near[2];
  const int64_t layers = parts.count("enc_p.encoder.attn_layers", "conv_q.weight");
  for (int64_t i = 0; i < layers; ++i) layers_.push_back(load_layer(parts, i));
  proj_ = parts.linear("enc_p.proj", hidden_);
  if (proj_.out() % 2 != 0) parts.fail("enc_p.proj", "expected an even number of outputs");
}

TextEncoder::Layer TextEncoder::load_layer(const VoiceParts& parts, int64_t index) {
  const std::string number = std::to_string(index), root = "enc_p.encoder.";
  const std::string attention = root + "attn_layers." + number, ffn = root + "ffn_layers." + number;
  Layer layer;
  const LinearPart qkv[] = {parts.one_tap(attention + ".conv_q", hidden_, hidden_),
                            parts.one_tap(attention + ".conv_k", hidden_, hidden_),
                            parts.one_tap(attention + ".conv_v", hidden_, hidden_)};
  layer.qkv = PackedLinear::pack(qkv, parts.type());
  layer.out = parts.linear(attention + ".conv_o", hidden_, hidden_, parts.type());
  const Shape near{1, 2 * window_ + 1, hidden_ / heads_};
  layer.near_keys = parts.f32(attention + ".emb_rel_k", near);
  layer.near_values = parts.f32(attention + ".emb_rel_v", near);
  layer.after_attention = ChannelNorm(parts, root + "norm_layers_1." + number, hidden_);
  layer.up = SameConv(parts, ffn + ".conv_1", hidden_);
  layer.down = SameConv(parts, ffn + ".conv_2", layer.up.out(), hidden_);
  layer.after_ffn = ChannelNorm(parts, root + "norm_layers_2." + number, hidden_);
  return layer;
}

/// Writes the attention's output for row `i` of a text of `count` rows. keys [D, count] belong to
/// one head. `score` has space for count + D numbers.
void TextEncoder::attend_row(const Layer& layer, const float* qkv, const float* keys, int64_t count,
                             int64_t i, int64_t head, float* score, float* out) const {
  const int64_t dim = hidden_ / heads_, width = 3 * hidden_, at = head * dim;
  const float* values = qkv + 2 * hidden_ + at;
  float* query = score + count;
  const float scale = 1.f / std::sqrt(static_cast<float>(dim));
  for (int64_t d = 0; d < dim; ++d) query[d] = qkv[i * width + at + d] * scale;
  std::fill_n(score, count, 0.f);
  add_rows(query, keys, count, dim, count, score);
  const int64_t first = std::max<int64_t>(0, i - window_);
  const int64_t end = std::min(count, i + window_ + 1);
  for (int64_t j = first; j < end; ++j) {
    score[j] += fixed_dot(query, layer.near_keys.f32() + (j - i + window_) * dim, dim);
  }
  const float top = *std::max_element(score, score + count);
  float sum = 0;
  for (int64_t j = 0; j < count; ++j) sum += score[j] = std::exp(score[j] - top);
  std::fill_n(out, dim, 0.f);
  add_rows(score, values, width, count, dim, out);
  const float* near = layer.near_values.f32() + (first - i + window_) * dim;
  add_rows(score + first, near, dim, end - first, dim, out);
  for (int64_t d = 0; d < dim; ++d) out[d] /= sum;
}

void TextEncoder::attend(StepContext& ctx, const Layer& layer, const RowBatch& qkv,
                         const View& mixed) const {
  const int64_t dim = hidden_ / heads_;
  for (size_t lane = 0; lane < qkv.lanes(); ++lane) {
    const int64_t count = qkv.rows(lane), room = count + dim, block = std::min(count, kRows);
    const Arena::Mark mark(ctx.arena);
    const View memory = ctx.arena.take({block * heads_, room}, DType::kF32);
    const View keys = ctx.arena.take({hidden_, count}, DType::kF32);
    const float* rows = qkv.lane(lane).f32();
    for (int64_t row = 0; row < count; ++row) {
      const float* key = rows + row * 3 * hidden_ + hidden_;
      for (int64_t c = 0; c < hidden_; ++c) keys.f32()[c * count + row] = key[c];
    }
    float* out = mixed.f32() + qkv.begin[lane] * hidden_;
    for (int64_t from = 0; from < count; from += block) {
      const int64_t some = std::min(block, count - from);
      ctx.pool.parallel_for(some * heads_, 1, [&](int64_t begin, int64_t end) {
        for (int64_t task = begin; task < end; ++task) {
          const int64_t row = from + task % some, head = task / some;
          attend_row(layer, rows, keys.f32() + head * dim * count, count, row, head,
                     memory.f32() + task * room, out + row * hidden_ + head * dim);
        }
      });
    }
  }
}

TextEncoder::Read TextEncoder::run(StepContext& ctx,
                                   std::span<const std::span<const int32_t>> texts) const {
  const std::span<int64_t> counts = take_array<int64_t>(ctx, std::ssize(texts));
  for (size_t i = 0; i < texts.size(); ++i) counts[i] = std::ssize(texts[i]);
  const RowBatch x = take_batch(ctx, counts, hidden_);
  const RowBatch prior = rows_like(ctx, x, proj_.out());
  float* to = x.all.f32();
  for (const std::span<const int32_t> text : texts) {
    for (const int32_t id : text) {
      SYRINX_CHECK(id >= 0 && id < symbols_, "[piper] invalid id ", id, " of ", symbols_);
      to = std::copy_n(table_.f32() + id * hidden_, hidden_, to);
    }
  }
  for (const Layer& layer : layers_) {
    const Arena::Mark mark(ctx.arena);
    const RowBatch qkv = rows_like(ctx, x, 3 * hidden_);
    const View mixed = ctx.arena.take(x.all.shape, DType::kF32);
    linear(ctx, layer.qkv, x.all, qkv.all);
    attend(ctx, layer, qkv, mixed);
    linear_add(ctx, layer.out, mixed, x.all);
    layer.after_attention.run(ctx, x.all);
    const RowBatch up = layer.up.run(ctx, x);
    activate(ctx, Activation::kRelu, up.all, up.all);
    add_inplace(ctx, x.all, layer.down.run(ctx, up).all);
    layer.after_ffn.run(ctx, x.all);
  }
  linear(ctx, proj_, x.all, prior.all);
  return {x, prior};
}

size_t TextEncoder::bytes() const {
  size_t sum = table_.bytes() + proj_.bytes();
  for (const Layer& layer : layers_) {
    sum += layer.qkv.bytes() + layer.out.bytes() + layer.up.bytes() + layer.down.bytes();
  }
  return sum;
}

}  // namespace syrinx::piper
