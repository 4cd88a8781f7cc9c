#include "families/kokoro/albert.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "families/kokoro/layers.h"
#include "kernels/activation.h"
#include "kernels/attention.h"

namespace syrinx::kokoro {
namespace {

constexpr float kAlbertEps = 1e-12f;

}  // namespace

Albert::Albert(const AlbertSizes& sizes, int64_t tokens, const Weights& weights, WeightType type)
    : sizes_(sizes) {
  const Weights e = weights.scope("embeddings"), encoder = weights.scope("encoder");
  words_ = Embedding(e.scope("word_embeddings"), tokens, sizes.embedding, DType::kF32);
  positions_ =
      Embedding(e.scope("position_embeddings"), sizes.positions, sizes.embedding, DType::kF32);
  kind_ = e.f32("token_type_embeddings.weight", {2, sizes.embedding});
  first_norm_ = LayerNorm(e.scope("LayerNorm"), sizes.embedding, kAlbertEps);
  in_ = load_linear(encoder, "embedding_hidden_mapping_in", sizes.hidden, sizes.embedding, true,
                    type);
  const Weights layer = encoder.scope("albert_layer_groups.0.albert_layers.0");
  const Weights attention = layer.scope("attention");
  const std::array<LinearPart, 3> parts{
      take_linear(attention, "query", sizes.hidden, sizes.hidden, true),
      take_linear(attention, "key", sizes.hidden, sizes.hidden, true),
      take_linear(attention, "value", sizes.hidden, sizes.hidden, true)};
  qkv_ = PackedLinear::pack(parts, type);
  attended_ = load_linear(attention, "dense", sizes.hidden, sizes.hidden, true, type);
  attention_norm_ = LayerNorm(attention.scope("LayerNorm"), sizes.hidden, kAlbertEps);
  up_ = load_linear(layer, "ffn", sizes.ffn, sizes.hidden, true, type);
  down_ = load_linear(layer, "ffn_output", sizes.hidden, sizes.ffn, true, type);
  last_norm_ = LayerNorm(layer.scope("full_layer_layer_norm"), sizes.hidden, kAlbertEps);
  weights.ignore("pooler.*");  // only training uses these weights
  weights.ignore("embeddings.position_ids");
  weights.ignore("embeddings.token_type_ids");
}

void Albert::run(StepContext& ctx, std::span<const int32_t> ids, std::span<const int32_t> row_begin,
                 const View& out) const {
  const Arena::Mark mark(ctx.arena);
  const auto rows = static_cast<int64_t>(ids.size()), batch = std::ssize(row_begin) - 1;
  std::vector<int32_t> places(ids.size()), lengths, pages;
  int64_t most = 0, held = 0;
  for (int64_t b = 0; b < batch; ++b) {
    lengths.push_back(row_begin[b + 1] - row_begin[b]);
    for (int32_t i = 0; i < lengths.back(); ++i) places[row_begin[b] + i] = i;
    most = std::max(most, KvPool::pages_for(lengths.back()));
  }
  for (int64_t b = 0; b < batch; ++b) {
    for (int64_t p = 0; p < most; ++p) {
      const bool used = p < KvPool::pages_for(lengths[b]);
      pages.push_back(static_cast<int32_t>(used ? held++ : 0));
    }
  }
  const KvSpec spec{1, sizes_.heads, static_cast<int>(sizes_.hidden / sizes_.heads), DType::kF32};
  const View memory =
      ctx.arena.take({held * static_cast<int64_t>(KvPool::page_bytes(spec))}, DType::kU8);
  const KvPool cache(spec, held, memory);
  const Ragged ragged{row_begin, lengths, pages, static_cast<int>(most)};
  AttentionSpec attention;
  attention.scale = 1 / std::sqrt(static_cast<float>(spec.head_dim));
  attention.causal = false;

  const View x = take_rows(ctx, rows, sizes_.embedding);
  words_(ctx, ids, x);
  positions_(ctx, places, x, true);
  add_bias_inplace(ctx, x, kind_.view().slice(0, 1).reshape({sizes_.embedding}));
  first_norm_(ctx, x, x);
  linear(ctx, in_, x, out);
  const View q = take_rows(ctx, rows, sizes_.hidden), k = take_rows(ctx, rows, sizes_.hidden),
             v = take_rows(ctx, rows, sizes_.hidden), seen = take_rows(ctx, rows, sizes_.hidden);
  const View wide = take_rows(ctx, rows, sizes_.ffn);
  const std::array outs{q, k, v};
  for (int i = 0; i < sizes_.layers; ++i) {
    linear_parts(ctx, qkv_, out, outs);
    write_and_attend(ctx, all_heads(q, sizes_.heads), all_heads(k, sizes_.heads),
                     all_heads(v, sizes_.heads), cache, 0, ragged, attention, seen);
    linear_add(ctx, attended_, seen, out);
    attention_norm_(ctx, out, out);
    linear(ctx, up_, out, wide);
    activate(ctx, Activation::kGeluTanh, wide, wide);
    linear_add(ctx, down_, wide, out);
    last_norm_(ctx, out, out);
  }
}

size_t Albert::bytes() const {
  return words_.bytes() + positions_.bytes() + kind_.bytes() + in_.bytes() + qkv_.bytes() +
         attended_.bytes() + up_.bytes() + down_.bytes();
}

}  // namespace syrinx::kokoro
