#include "families/qwen3_omni/thinker.h"

#include "kernels/copy.h"
#include "kernels/embedding.h"

namespace syrinx::qwen3_omni {

Thinker::Thinker(const ModelConfig& config, const Weights& weights, WeightType type)
    : audio_id_(config.text.audio),
      tap_block_(config.talker.accept_layer),
      kv_type_(type == WeightType::kF32 ? DType::kF32 : DType::kF16),
      decoder_(config.thinker.decoder, weights.scope("model"), type) {
  const int64_t vocab = config.thinker.vocab, hidden = config.thinker.decoder.hidden;
  table_ = weights.scope("model").take("embed_tokens.weight", {vocab, hidden});
  head_ = load_linear(weights, "lm_head", vocab, hidden, false, type);
}

KvSpec Thinker::kv_spec() const { return decoder_.config().kv_spec(kv_type_); }

void Thinker::embed(StepContext& ctx, std::span<const int32_t> ids, const View& heard,
                    const View& x) const {
  syrinx::embed(ctx, table_, ids, x);
  const int64_t hidden = x.shape[1], rows = heard.empty() ? 0 : heard.shape[0];
  const Arena::Mark host_mark(ctx.host);
  const std::span<CopySpan> copies = take_array<CopySpan>(ctx, rows);
  int64_t next = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] != audio_id_) continue;
    SYRINX_CHECK(next < rows, "[thinker] ", rows, " rows of recordings are too few");
    copies[next] = {heard.f32() + next * hidden, x.f32() + static_cast<int64_t>(i) * hidden,
                    hidden};
    ++next;
  }
  SYRINX_CHECK(next == rows, "[thinker] ", next, " places for ", rows, " rows of recordings");
  copy_spans(ctx, copies);
}

void Thinker::forward(StepContext& ctx, const View& x, const Ragged& ragged, const KvPool& pool,
                      const View& tap) const {
  const DecoderPart all{0, ragged, &pool};
  const int layers = decoder_.config().layers, middle = tap.empty() ? 0 : tap_block_;
  decoder_.forward(ctx, x, std::span(&all, 1), 0, {0, middle});
  if (!tap.empty()) copy(ctx, x, tap);
  decoder_.forward(ctx, x, std::span(&all, 1), middle, {middle, layers});
}

void Thinker::logits(StepContext& ctx, const View& x, std::span<const int32_t> rows,
                     const View& out) const {
  const Arena::Mark mark(ctx.arena);
  const View last = ctx.arena.take({std::ssize(rows), x.shape[1]}, DType::kF32);
  decoder_.norm_rows(ctx, x, rows, last);
  linear(ctx, head_, last, out);
}

}  // namespace syrinx::qwen3_omni
