#include "families/kyutai_tts/depth.h"

#include "kernels/copy.h"
#include "kernels/embedding.h"
#include "kernels/solver.h"
#include "nn/stream_pass.h"

namespace syrinx::kyutai_tts {
namespace {

/// Computes out[i] = table[codes[rows[i], column]]. codes i32 [E, K]; out [A, width of the table].
void embed_rows(StepContext& ctx, const View& table, const View& codes, int column,
                std::span<const int32_t> rows, const View& out) {
  if (std::ssize(rows) == codes.shape[0]) return embed_column(ctx, table, codes, column, out);
  const Arena::Mark mark(ctx.arena);
  const View all = take_rows(ctx, codes.shape[0], out.shape[1]);
  embed_column(ctx, table, codes, column, all);
  gather_rows(ctx, all, rows, out);
}

}  // namespace

TextTable::TextTable(const Weights& weights, int64_t ids, int64_t width, int64_t out,
                     WeightType type)
    : table_(weights.take("weight", {ids, width})),
      main_(load_linear(weights, "out1", out, width, false, at_least_8_bits(type))),
      second_(load_linear(weights, "out2", out, width, false, at_least_8_bits(type))) {}

void TextTable::move_to(Device device, WeightPlace& place) {
  place.move(device, table_, main_, second_);
}

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
      decoder_(config.depth, weights.scope("depth"), type, config.schedule),
      words_({config.text_out, 1}, DType::kF32),
      others_({config.text_out, 1}, DType::kF32) {
  for (int64_t id = 0; id < config.text_out; ++id) {
    words_.f32()[id] = id == kNewWord ? 1 : 0;
    others_.f32()[id] = id == kNewWord ? 0 : 1;
  }
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

void DepthCodes::move_to(Device device, WeightPlace& place) {
  place.move(device, decoder_, text_, words_, others_, tables_, inputs_, widen_, heads_);
}

/// Adds the text's rows to x [A, D]. The drawn codes may be on a GPU, so both of the ids that may
/// follow run, and a factor of 0 or 1 chooses between their rows.
void DepthCodes::add_text(StepContext& ctx, const View& codes, const FrameRows& made,
                          const View& x) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const int64_t rows = x.shape[0];
  const View each = take_rows(ctx, rows, x.shape[1]), factors = take_rows(ctx, rows, 1);
  for (const bool word : {true, false}) {
    embed_rows(ctx, word ? words_ : others_, codes, 0, made.rows, factors);
    fill_zeros(ctx, each);
    text_.add(ctx, word ? made.word : made.frame, each);
    add_rows_scaled(ctx, x, each, factors.reshape({rows}));
  }
}

void DepthCodes::logits(StepContext& ctx, int q, const View& hidden, const View& codes,
                        const FrameRows& made, const View& scratch, const View& out) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const int64_t rows = std::ssize(made.rows), width = decoder_.config().hidden;
  const auto kept = static_cast<int64_t>(projected_bytes(rows));
  View projected = scratch.slice(0, rows * width * 4);
  projected.dtype = DType::kF32, projected.shape = {rows, width};
  const auto code = static_cast<size_t>(q);
  if (q == 0 || schedule_[code] != schedule_[code - 1]) {
    const View some = take_rows(ctx, rows, hidden.shape[1]);
    gather_rows(ctx, hidden, made.rows, some);
    linear(ctx, inputs_[static_cast<size_t>(schedule_[code])], some, projected);
  }
  const View x = take_rows(ctx, rows, width);
  copy(ctx, projected, x);
  if (q == 0) {
    add_text(ctx, codes, made, x);
  } else {
    const View narrow = take_rows(ctx, rows, tables_[code - 1].shape[1]);
    embed_rows(ctx, tables_[code - 1], codes, q, made.rows, narrow);
    linear_add(ctx, widen_[code - 1], narrow, x);
  }
  const View inner = scratch.slice(kept, scratch.shape[0]);
  decoder_.run(ctx, q, x, inner, heads_[code], out);
}

}  // namespace syrinx::kyutai_tts
