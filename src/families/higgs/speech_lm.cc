#include "families/higgs/speech_lm.h"

#include "families/higgs/state.h"
#include "kernels/embedding.h"

namespace syrinx::higgs {

SpeechLm::SpeechLm(const ModelConfig& config, const Weights& weights, WeightType type)
    : decoder_(config.lm, weights.scope("body"), type) {
  const int64_t width = config.lm.hidden, v = config.codes;
  const Weights tied = weights.scope("tied"), tables = tied.scope("embedding");
  tables_.push_back(tables.take("text_embedding.weight", {config.vocab, width}));
  const View all =
      tables.take("modality_embeddings.0.embedding.weight", {config.codebooks * v, width});
  for (int64_t c = 0; c < config.codebooks; ++c) {
    const View table = all.slice(c * v, (c + 1) * v);
    tables_.push_back(table);
    heads_.push_back(PackedLinear::pack(table, at_least_8_bits(type)));
  }
  tied.ignore("head.*");  // copies
  traits_.hidden = config.lm.hidden;
  traits_.vocab.assign(static_cast<size_t>(config.codebooks), static_cast<int>(v));
  traits_.kv = {config.lm.kv_spec(type == WeightType::kF32 ? DType::kF32 : DType::kF16)};
  traits_.max_positions = static_cast<int>(config.max_positions);
}

size_t SpeechLm::bytes() const {
  size_t sum = decoder_.bytes();
  for (const PackedLinear& head : heads_) sum += head.bytes();
  return sum;
}

size_t SpeechLm::table_bytes() const {
  size_t sum = 0;
  for (const View& table : tables_) sum += table.bytes();
  return sum;
}

View SpeechLm::embed_rows(StepContext& ctx, const ArBatch& batch) const {
  const View x = ctx.arena.take({batch.rows, traits_.hidden}, DType::kF32);
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const size_t slots = tables_.size();
  const std::span<int32_t> ids = take_array<int32_t>(ctx, batch.rows * std::ssize(tables_));
  size_t row = 0;
  for (const ArSeq& seq : batch.seqs) {
    const State& state = static_cast<const State&>(*seq.state);
    for (int i = 0; i < seq.rows; ++i, ++row) {
      state.input(seq.first_pos + i, ids.subspan(row * slots, slots));
    }
  }
  embed_sum(ctx, tables_, ids, x);
  return x;
}

void SpeechLm::forward(StepContext& ctx, const ArBatch& batch, View hidden) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const View x = embed_rows(ctx, batch);
  decoder_.forward(ctx, x, batch.ragged, batch.kv[0]);
  if (batch.emits == 0) return;
  decoder_.norm_rows(ctx, x, emitting_rows(ctx, batch), hidden);
}

void SpeechLm::logits(StepContext& ctx, int k, const ArBatch&, View hidden, View, View out) const {
  linear(ctx, heads_[k], hidden, out);
}

}  // namespace syrinx::higgs
