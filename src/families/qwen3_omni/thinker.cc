#include "families/qwen3_omni/thinker.h"

#include <algorithm>

#include "kernels/copy.h"
#include "kernels/embedding.h"
#include "nn/cache_type.h"

namespace syrinx::qwen3_omni {

Thinker::Thinker(const ModelConfig& config, const Weights& weights, WeightType type)
    : tap_block_(config.talker.accept_layer),
      kv_type_(cache_type(type)),
      decoder_(config.thinker.decoder, weights.scope("model"), type) {
  const int64_t vocab = config.thinker.vocab, hidden = config.thinker.decoder.hidden;
  table_ = weights.scope("model").take("embed_tokens.weight", {vocab, hidden});
  head_ = load_linear(weights, "lm_head", vocab, hidden, false, at_least_8_bits(type));
}

KvSpec Thinker::kv_spec() const { return decoder_.config().kv_spec(kv_type_); }

void Thinker::embed(StepContext& ctx, std::span<const int32_t> ids, const View& heard,
                    const View& x) const {
  const Arena::Mark host_mark(ctx.host);
  const auto count = std::ssize(ids);
  const int64_t hidden = x.shape[1], there = heard.empty() ? 0 : heard.shape[0];
  const std::span<int32_t> written = take_array<int32_t>(ctx, count);
  const std::span<CopySpan> copies = take_array<CopySpan>(ctx, count);
  size_t rows = 0;
  for (int64_t i = 0; i < count; ++i) {
    written[i] = std::max(ids[i], 0);
    if (ids[i] >= 0) continue;
    const int64_t row = -1 - int64_t{ids[i]};
    SYRINX_CHECK(row < there, "[thinker] row ", row, " of ", there, " rows of recordings");
    copies[rows++] = {heard.f32() + row * hidden, x.f32() + i * hidden, hidden};
  }
  syrinx::embed(ctx, table_, written, x);
  copy_spans(ctx, copies.first(rows));
}

void Thinker::forward(StepContext& ctx, const View& x, const Ragged& ragged, const KvPool& pool,
                      const View& tap) const {
  const DecoderPart all{0, ragged, &pool};
  const int layers = decoder_.config().layers, middle = tap.empty() ? 0 : tap_block_;
  decoder_.forward(ctx, x, std::span(&all, 1), 0, {0, middle});
  if (!tap.empty()) copy(ctx, x, tap);
  decoder_.forward(ctx, x, std::span(&all, 1), middle, {middle, layers});
}

}  // namespace syrinx::qwen3_omni
