#include "families/qwen3_tts/talker.h"

#include <algorithm>

#include "families/qwen3_tts/state.h"
#include "kernels/activation.h"
#include "kernels/copy.h"
#include "kernels/embedding.h"

namespace syrinx::qwen3_tts {
Talker::Talker(const ModelConfig& config, const Weights& weights, WeightType type)
    : config_(config),
      decoder_(config.talker, weights.scope("model"), type),
      predictor_(config, weights.scope("code_predictor"), type) {
  const int64_t hidden = config.talker.hidden, text = config.text_hidden;
  const Weights model = weights.scope("model"), projection = weights.scope("text_projection");
  text_table_ = model.take("text_embedding.weight", {config.text_vocab, text});
  codec_table_ = model.take("codec_embedding.weight", {config.talker_vocab, hidden});
  host_codec_table_ = codec_table_;
  text_fc1_ = load_linear(projection, "linear_fc1", text, text, true, type);
  text_fc2_ = load_linear(projection, "linear_fc2", hidden, text, true, type);
  head_ = load_linear(weights, "codec_head", config.talker_vocab, hidden, false, type);
  tables_ = {codec_table_};
  tables_.insert(tables_.end(), predictor_.tables().begin(), predictor_.tables().end());

  traits_.hidden = static_cast<int>(hidden);
  traits_.vocab.assign(config.codebooks, static_cast<int>(config.code_vocab));
  traits_.vocab[0] = static_cast<int>(config.talker_vocab);
  traits_.kv = {config.talker.kv_spec(type == WeightType::kF32 ? DType::kF32 : DType::kF16)};
  traits_.max_positions = static_cast<int>(config.max_positions);

  common_ids_ = {config.text.tts_pad, config.text.tts_bos, config.text.tts_eos};
  common_ = Tensor({static_cast<int64_t>(common_ids_.size()), hidden}, DType::kF32);
  ThreadPool pool(1);
  Arena arena;
  StepContext ctx{pool, arena};
  project(ctx, common_ids_, common_);
}

void Talker::move_to(Device device) {
  decoder_.move_to(device);
  predictor_.move_to(device, moved_);
  for (PackedLinear* linear : {&text_fc1_, &text_fc2_, &head_}) syrinx::move_to(device, *linear);
  text_table_ = moved_.move(device, text_table_);
  codec_table_ = moved_.move(device, codec_table_);
  tables_ = {codec_table_};
  tables_.insert(tables_.end(), predictor_.tables().begin(), predictor_.tables().end());
  syrinx::move_to(device, common_);
}

size_t Talker::bytes() const {
  return decoder_.bytes() + head_.bytes() + text_fc1_.bytes() + text_fc2_.bytes() + common_.bytes();
}

size_t Talker::table_bytes() const {
  size_t sum = text_table_.bytes();
  for (const View& table : tables_) sum += table.bytes();
  return sum;
}

void Talker::project(StepContext& ctx, std::span<const int32_t> ids, const View& out) const {
  Arena::Mark mark(ctx.arena);
  const auto n = static_cast<int64_t>(ids.size());
  const View rows = ctx.arena.take({n, config_.text_hidden}, DType::kF32);
  const View inner = ctx.arena.take({n, config_.text_hidden}, DType::kF32);
  embed(ctx, text_table_, ids, rows);
  linear(ctx, text_fc1_, rows, inner);
  activate(ctx, Activation::kSilu, inner, inner);
  linear(ctx, text_fc2_, inner, out);
}

/// x[i] += projection of ids[i]. Padding, which most decode rows have, is not computed again.
void Talker::add_text(StepContext& ctx, std::span<const int32_t> ids, const View& x) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const int64_t hidden = x.shape[1], common = std::ssize(common_ids_);
  const auto count = std::ssize(ids);
  // Rows to add: the common ones first, then those that are made here.
  std::span<int32_t> rows = take_array<int32_t>(ctx, count),
                     other = take_array<int32_t>(ctx, count);
  int64_t others = 0;
  for (int64_t i = 0; i < count; ++i) {
    const auto found = std::find(common_ids_.begin(), common_ids_.end(), ids[i]);
    rows[i] = static_cast<int32_t>(found - common_ids_.begin());
    if (found != common_ids_.end()) continue;
    rows[i] = static_cast<int32_t>(common + others);
    other[others++] = ids[i];
  }
  if (others == 0) return embed(ctx, common_, rows, x, true);
  const View all = ctx.arena.take({common + others, hidden}, DType::kF32);
  copy(ctx, common_, all.slice(0, common));
  project(ctx, other.first(others), all.slice(common, common + others));
  embed(ctx, all, rows, x, true);
}

std::vector<float> Talker::codec_row(int32_t id) const {
  ThreadPool pool(1);
  Arena arena;
  StepContext ctx{pool, arena};
  std::vector<float> row(static_cast<size_t>(config_.talker.hidden));
  embed(ctx, host_codec_table_, std::span(&id, 1),
        View{row.data(), DType::kF32, {1, config_.talker.hidden}});
  return row;
}

View Talker::embed_rows(StepContext& ctx, const ArBatch& batch) const {
  const View x = ctx.arena.take({batch.rows, config_.talker.hidden}, DType::kF32);
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const int64_t c = config_.codebooks;
  std::span<int32_t> codes = take_array<int32_t>(ctx, batch.rows * c);
  std::span<int32_t> text = take_array<int32_t>(ctx, batch.rows);
  size_t row = 0;
  for (const ArSeq& seq : batch.seqs) {
    const State& state = static_cast<const State&>(*seq.state);
    for (int i = 0; i < seq.rows; ++i, ++row) {
      text[row] = state.input(seq.first_pos + i, codes.subspan(row * c, c));
    }
  }
  embed_sum(ctx, tables_, codes, x);
  row = 0;
  for (const ArSeq& seq : batch.seqs) {
    const State& state = static_cast<const State&>(*seq.state);
    if (const int at = state.vector_row(); at >= seq.first_pos && at < seq.first_pos + seq.rows) {
      const int64_t to = static_cast<int64_t>(row) + at - seq.first_pos;
      store(ctx, std::span(state.vector()).first(config_.talker.hidden), x.slice(to, to + 1));
    }
    row += static_cast<size_t>(seq.rows);
  }
  add_text(ctx, text, x);
  return x;
}

void Talker::forward(StepContext& ctx, const ArBatch& batch, View hidden) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const View x = embed_rows(ctx, batch);
  decoder_.forward(ctx, x, batch.ragged, batch.kv[0]);
  if (batch.emits == 0) return;
  std::span<int32_t> last = take_array<int32_t>(ctx, batch.emits);
  size_t e = 0;
  for (size_t b = 0; b < batch.seqs.size(); ++b) {
    if (batch.seqs[b].emits) last[e++] = batch.ragged.row_begin[b + 1] - 1;
  }
  decoder_.norm_rows(ctx, x, last, hidden);
}

void Talker::logits(StepContext& ctx, int k, const ArBatch& batch, View hidden, View codes,
                    View out) const {
  if (k == 0) {
    linear(ctx, head_, hidden, out);
  } else {
    predictor_.logits(ctx, k, codec_table_, hidden, codes, batch.scratch, out);
  }
}

}  // namespace syrinx::qwen3_tts
