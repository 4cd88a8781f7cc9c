#include "families/kyutai_tts/depth.h"

#include "kernels/activation.h"
#include "kernels/embedding.h"
#include "nn/stream_pass.h"

namespace syrinx::kyutai_tts {

TextTable::TextTable(const Weights& weights, int64_t ids, int64_t width, int64_t out,
                     WeightType type)
    : table_(weights.take("weight", {ids, width})),
      main_(load_linear(weights, "out1", out, width, false, at_least_8_bits(type))),
      second_(load_linear(weights, "out2", out, width, false, at_least_8_bits(type))) {}

void TextTable::add(StepContext& ctx, std::span<const TextIds> ids, const View& out) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const int64_t count = std::ssize(ids);
  const View rows = take_rows(ctx, count, table_.shape[1]);
  const std::span<int32_t> each = take_array<int32_t>(ctx, count);
  for (const bool second : {false, true}) {
    for (size_t i = 0; i < ids.size(); ++i) each[i] = second ? ids[i].second : ids[i].main;
    embed_sum(ctx, std::span(&table_, 1), each, rows);
    linear_add(ctx, second ? second_ : main_, rows, out);
  }
}

DepthCodes::DepthCodes(const ModelConfig& config, const Weights& weights, WeightType type)
    : schedule_(config.schedule),
      decoder_(config.depth, weights.scope("depth"), type, config.schedule) {
  const int64_t wide = config.lm.hidden, narrow = config.depth.hidden;
  const WeightType most = at_least_8_bits(type);
  for (int set = 0; set < config.sets(); ++set)
    inputs_.push_back(
        load_linear(weights.scope("depformer_in"), std::to_string(set), narrow, wide, false, most));
  const Weights text = weights.scope("depformer_text_emb");
  text_ = TextTable(text, config.text_in + 1, config.rank, narrow, type);
  text.ignore("low_rank.weight");  // the package makes it but does not use it
  for (int q = 0; q < config.codebooks(); ++q) {
    heads_.push_back(load_linear(weights.scope("linears"), std::to_string(q), config.card, narrow,
                                 config.biased, most));
    if (q + 1 == config.codebooks()) break;
    const Weights table = weights.scope("depformer_emb", q);
    tables_.push_back(table.take("weight", {config.card + 1, config.rank}));
    widen_.push_back(load_linear(table, "low_rank", narrow, config.rank, false, most));
  }
}

size_t DepthCodes::projected_bytes(int64_t rows) const {
  return static_cast<size_t>((rows * decoder_.config().hidden * int64_t{4} + 63) / 64 * 64);
}

size_t DepthCodes::scratch_bytes(int rows) const {
  return projected_bytes(rows) + decoder_.scratch_bytes(rows);
}

size_t DepthCodes::bytes() const {
  size_t sum = decoder_.bytes() + text_.bytes();
  for (const auto* list : {&inputs_, &widen_, &heads_})
    for (const PackedLinear& linear : *list) sum += linear.bytes();
  for (const View& table : tables_) sum += table.bytes();
  return sum;
}

void DepthCodes::logits(StepContext& ctx, int q, const View& hidden, std::span<const TextIds> text,
                        std::span<const int32_t> previous, const View& scratch,
                        const View& out) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const int64_t rows = hidden.shape[0], width = decoder_.config().hidden;
  const auto kept = static_cast<int64_t>(projected_bytes(rows));
  View projected = scratch.slice(0, rows * width * 4);
  projected.dtype = DType::kF32, projected.shape = {rows, width};
  const auto code = static_cast<size_t>(q);
  if (q == 0 || schedule_[code] != schedule_[code - 1])
    linear(ctx, inputs_[static_cast<size_t>(schedule_[code])], hidden, projected);
  const View x = take_rows(ctx, rows, width);
  std::copy_n(projected.f32(), rows * width, x.f32());
  if (q == 0) {
    text_.add(ctx, text, x);
  } else {
    const View narrow = take_rows(ctx, rows, tables_[code - 1].shape[1]);
    embed(ctx, tables_[code - 1], previous, narrow);
    linear_add(ctx, widen_[code - 1], narrow, x);
  }
  const View inner = scratch.slice(kept, scratch.shape[0]);
  decoder_.run(ctx, q, x, inner, heads_[code], out);
}

}  // namespace syrinx::kyutai_tts
