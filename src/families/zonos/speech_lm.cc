#include "families/zonos/speech_lm.h"

#include <algorithm>

#include "families/run_decoder.h"
#include "kernels/copy.h"
#include "kernels/embedding.h"
#include "model/input_rows.h"
#include "nn/cache_type.h"

namespace syrinx::zonos {
SpeechLm::SpeechLm(const ModelConfig& config, const PrefixConditioner& conditioner,
                   const Weights& weights, WeightType type)
    : conditioner_(conditioner),
      codebooks_(config.codebooks),
      decoder_(config.lm, weights.scope("backbone"), type) {
  const int64_t hidden = config.lm.hidden;
  for (int64_t k = 0; k < codebooks_; ++k) {
    tables_.push_back(
        weights.scope("embeddings", k).take("weight", {int64_t{config.mask} + 1, hidden}));
    heads_.push_back(load_linear(weights, "heads." + std::to_string(k), int64_t{config.eos} + 1,
                                 hidden, false, at_least_8_bits(type)));
  }
  traits_.hidden = config.lm.hidden;
  traits_.vocab.assign(static_cast<size_t>(codebooks_), config.eos + 1);
  traits_.kv = {config.lm.kv_spec(cache_type(type))};
  traits_.max_positions = static_cast<int>(config.max_positions);
}

void SpeechLm::move_to(Device device) {
  decoder_.move_to(device);
  for (PackedLinear& head : heads_) syrinx::move_to(device, head);
  for (View& table : tables_) table = moved_.move(device, table);
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
  const int64_t width = traits_.hidden;
  const View x = ctx.arena.take({batch.rows, width}, DType::kF32);
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  // Rows of the prefix are made together, then put in their places.
  const BatchRows rows = fill_rows(ctx, batch, static_cast<int>(codebooks_));
  std::span<GivenRow> prefix = take_array<GivenRow>(ctx, batch.rows);
  std::span<int32_t> places = take_array<int32_t>(ctx, batch.rows);
  size_t count = 0;
  for (size_t row = 0; row < rows.given.size(); ++row) {
    if (rows.given[row].empty()) continue;
    prefix[count] = rows.given[row];
    places[count++] = static_cast<int32_t>(row);
  }
  embed_sum(ctx, tables_, rows.ids, x);
  if (count == 0) return x;
  const View made = ctx.arena.take({static_cast<int64_t>(count), width}, DType::kF32);
  conditioner_.embed(ctx, prefix.first(count), made);
  std::span<CopySpan> copies = take_array<CopySpan>(ctx, static_cast<int64_t>(count));
  for (size_t i = 0; i < count; ++i) {
    copies[i] = {made.f32() + static_cast<int64_t>(i) * width, x.f32() + places[i] * width, width};
  }
  copy_spans(ctx, copies);
  return x;
}

void SpeechLm::forward(StepContext& ctx, const ArBatch& batch, View hidden) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  run_decoder(ctx, decoder_, batch, embed_rows(ctx, batch), hidden);
}

void SpeechLm::logits(StepContext& ctx, int k, const ArBatch&, View hidden, View, View out) const {
  linear(ctx, heads_[k], hidden, out);
}

}  // namespace syrinx::zonos
