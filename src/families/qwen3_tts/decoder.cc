#include "families/qwen3_tts/decoder.h"

#include <cmath>

#include "kernels/embedding.h"
#include "kernels/norm.h"

namespace syrinx::qwen3_tts {

Decoder::Decoder(const DecoderConfig& config, const Weights& weights, WeightType type,
                 int64_t max_positions)
    : config_(config),
      kv_type_(type == WeightType::kF32 ? DType::kF32 : DType::kF16),
      norm_(weights.f32("norm.weight", {config.hidden})),
      rope_({static_cast<int>(config.head_dim), config.rope_theta}, max_positions) {
  for (int64_t i = 0; i < config.layers; ++i) {
    layers_.push_back(load_layer(config, weights.scope("layers", i), type));
  }
}

Decoder::Layer Decoder::load_layer(const DecoderConfig& c, const Weights& w, WeightType type) {
  const int64_t q = c.heads * c.head_dim, kv = c.kv_heads * c.head_dim;
  const Weights attention = w.scope("self_attn"), mlp = w.scope("mlp");
  Layer layer;
  layer.norm1 = w.f32("input_layernorm.weight", {c.hidden});
  layer.norm2 = w.f32("post_attention_layernorm.weight", {c.hidden});
  layer.q_norm = attention.f32("q_norm.weight", {c.head_dim});
  layer.k_norm = attention.f32("k_norm.weight", {c.head_dim});
  const LinearPart parts[] = {{attention.take("q_proj.weight", {q, c.hidden})},
                              {attention.take("k_proj.weight", {kv, c.hidden})},
                              {attention.take("v_proj.weight", {kv, c.hidden})}};
  layer.qkv = PackedLinear::pack(parts, type);
  layer.out = PackedLinear::pack(attention.take("o_proj.weight", {c.hidden, q}), type);
  layer.gate_up = PackedLinear::pack_gated({mlp.take("gate_proj.weight", {c.ffn, c.hidden})},
                                           {mlp.take("up_proj.weight", {c.ffn, c.hidden})}, type);
  layer.down = PackedLinear::pack(mlp.take("down_proj.weight", {c.hidden, c.ffn}), type);
  return layer;
}

KvSpec Decoder::kv_spec() const {
  return {static_cast<int>(config_.layers), static_cast<int>(config_.kv_heads),
          static_cast<int>(config_.head_dim), kv_type_};
}

size_t Decoder::bytes() const {
  size_t sum = norm_.bytes();
  for (const Layer& l : layers_) {
    sum += l.qkv.bytes() + l.out.bytes() + l.gate_up.bytes() + l.down.bytes();
  }
  return sum;
}

void Decoder::run(StepContext& ctx, const View& x, const KvPool& kv, const Ragged& ragged) const {
  Arena::Mark mark(ctx.arena);
  const int64_t n = x.shape[0];
  const int heads = static_cast<int>(config_.heads), kv_heads = static_cast<int>(config_.kv_heads);
  const int dim = static_cast<int>(config_.head_dim);
  const int64_t q_columns = int64_t{heads} * dim, kv_columns = int64_t{kv_heads} * dim;
  const auto eps = static_cast<float>(config_.rms_eps);
  const AttentionSpec spec{1.f / std::sqrt(static_cast<float>(dim))};

  const View ids = ctx.arena.take({n}, DType::kI32);
  const std::span<int32_t> positions(ids.i32(), static_cast<size_t>(n));
  ragged_positions(ragged, positions);
  const View normed = ctx.arena.take({n, config_.hidden}, DType::kF32);
  const View qkv = ctx.arena.take({n, q_columns + 2 * kv_columns}, DType::kF32);
  const View mixed = ctx.arena.take({n, q_columns}, DType::kF32);
  const View wide = ctx.arena.take({n, config_.ffn}, DType::kF32);
  const HeadsView q{qkv, 0, heads, dim}, k{qkv, q_columns, kv_heads, dim};
  const HeadsView v{qkv, q_columns + kv_columns, kv_heads, dim};
  for (size_t l = 0; l < layers_.size(); ++l) {
    const Layer& layer = layers_[l];
    const int index = static_cast<int>(l);
    rms_norm(ctx, x, layer.norm1, eps, normed);
    linear(ctx, layer.qkv, normed, qkv);
    rms_norm_heads(ctx, q, layer.q_norm, eps);
    rms_norm_heads(ctx, k, layer.k_norm, eps);
    rope(ctx, q, positions, rope_);
    rope(ctx, k, positions, rope_);
    write_kv(ctx, k, v, kv, index, ragged);
    paged_attention(ctx, q, kv, index, ragged, spec, mixed);
    linear_add(ctx, layer.out, mixed, x);
    rms_norm(ctx, x, layer.norm2, eps, normed);
    linear(ctx, layer.gate_up, normed, wide);
    linear_add(ctx, layer.down, wide, x);
  }
}

void Decoder::finish(StepContext& ctx, const View& x, std::span<const int32_t> rows,
                     const View& out) const {
  gather_rows(ctx, x, rows, out);
  rms_norm(ctx, out, norm_, static_cast<float>(config_.rms_eps), out);
}

}  // namespace syrinx::qwen3_tts
