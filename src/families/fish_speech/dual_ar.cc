#include "families/fish_speech/dual_ar.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "families/fish_speech/state.h"
#include "families/run_decoder.h"
#include "kernels/activation.h"
#include "kernels/embedding.h"
#include "nn/cache_type.h"
#include "nn/stream_pass.h"

namespace syrinx::fish_speech {
namespace {

std::vector<View> input_tables(const ModelConfig& config, const Weights& weights) {
  const int64_t width = config.slow.hidden, v = config.codes;
  std::vector<View> tables{
      weights.take("text_model.model.embeddings.weight", {config.vocab, width})};
  const View all =
      weights.take("audio_decoder.codebook_embeddings.weight", {config.codebooks * v, width});
  for (int64_t c = 0; c < config.codebooks; ++c) tables.push_back(all.slice(c * v, (c + 1) * v));
  return tables;
}

PackedLinear tied_head(const ModelConfig& config, const View& table, WeightType type) {
  const LinearPart parts[] = {
      {table.slice(config.semantic_begin, config.semantic_begin + config.codes)},
      {table.slice(config.end_token, config.end_token + 1)}};
  return PackedLinear::pack(parts, type);
}

}  // namespace

FastAr::FastAr(const ModelConfig& config, const Weights& weights, WeightType type)
    : decoder_(config.fast, weights, type, config.codebooks) {
  const int64_t v = config.codes, width = config.fast.hidden;
  const View stored = weights.take("embeddings.weight", {v, width});
  table_ = Tensor({v + 1, width}, stored.dtype);
  std::memcpy(table_.view().data, stored.data, stored.bytes());
  const View end = table_.view().slice(v, v + 1);
  std::memcpy(end.data, stored.data, end.bytes());
  head_ = load_linear(weights, "output", v, width, false, at_least_8_bits(type));
}

/// A step begins with two rows a sequence, the slow network's hidden row and code 0; later one row,
/// the code before.
View FastAr::inputs(StepContext& ctx, int k, const View& hidden, const View& codes) const {
  const View x = take_rows(ctx, hidden.shape[0], hidden.shape[1]);
  embed_column(ctx, table_, codes, k - 1, x);
  return k == 1 ? side_by_side(ctx, hidden, x) : x;
}

void FastAr::logits(StepContext& ctx, int k, const View& hidden, const View& codes,
                    const View& scratch, const View& out) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const View top = decoder_.run(ctx, k, inputs(ctx, k, hidden, codes), scratch);
  linear(ctx, head_, top, out);
}

DualAr::DualAr(const ModelConfig& config, const Weights& weights, WeightType type)
    : config_(config),
      tables_(input_tables(config, weights)),
      decoder_(config.slow, weights.scope("text_model").scope("model"), type),
      head_(tied_head(config, tables_.front(), at_least_8_bits(type))),
      fast_(config, weights.scope("audio_decoder"), type) {
  traits_.hidden = config.slow.hidden;
  traits_.vocab.assign(static_cast<size_t>(config.codebooks), static_cast<int>(config.codes));
  traits_.vocab[0] += 1;  // the end
  traits_.kv = {config.slow.kv_spec(cache_type(type))};
  traits_.max_positions = static_cast<int>(config.max_positions);
}

size_t DualAr::table_bytes() const {
  size_t sum = 0;
  for (const View& table : tables_) sum += table.bytes();
  return sum;
}

View DualAr::embed_rows(StepContext& ctx, const ArBatch& batch) const {
  const View x = take_rows(ctx, batch.rows, config_.slow.hidden);
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const size_t slots = tables_.size();
  std::span<int32_t> ids = take_array<int32_t>(ctx, batch.rows * std::ssize(tables_));
  size_t row = 0;
  for (const ArSeq& seq : batch.seqs) {
    const State& state = static_cast<const State&>(*seq.state);
    for (int i = 0; i < seq.rows; ++i, ++row)
      state.input(seq.first_pos + i, ids.subspan(row * slots, slots));
  }
  embed_sum(ctx, tables_, ids, x);
  // A frame is the sum of its C + 1 entries over the root of their number.
  const float scale = 1.f / std::sqrt(static_cast<float>(slots));
  const auto is_frame = [&](int64_t r) { return ids[r * std::ssize(tables_) + 1] >= 0; };
  for (int64_t begin = 0; begin < batch.rows;) {
    int64_t end = begin + 1;
    while (end < batch.rows && is_frame(end) == is_frame(begin)) ++end;
    if (is_frame(begin)) scale_inplace(ctx, x.slice(begin, end), scale);
    begin = end;
  }
  return x;
}

void DualAr::forward(StepContext& ctx, const ArBatch& batch, View hidden) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  run_decoder(ctx, decoder_, batch, embed_rows(ctx, batch), hidden);
}

void DualAr::logits(StepContext& ctx, int k, const ArBatch& batch, View hidden, View codes,
                    View out) const {
  if (k == 0) {
    linear(ctx, head_, hidden, out);
  } else {
    fast_.logits(ctx, k, hidden, codes, batch.scratch, out);
  }
}

}  // namespace syrinx::fish_speech
