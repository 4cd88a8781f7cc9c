#include "families/whisper/decoder.h"

#include <algorithm>
#include <cmath>

#include "families/whisper/alignment.h"
#include "families/whisper/token_rules.h"
#include "kernels/activation.h"
#include "kernels/embedding.h"

namespace syrinx::whisper {
namespace {

constexpr int64_t kScoredRows = 16;  // rows whose logits are in memory at the same time

/// Returns a copy of x in host memory; on the CPU, x itself.
View on_host(StepContext& ctx, const View& x) {
  if (ctx.device == Device::kCpu) return x;
  const View copy = ctx.host.take(x.shape, x.dtype);
  fetch(ctx, x, {copy.f32(), static_cast<size_t>(copy.count())});
  synchronize(ctx);
  return copy;
}

DecoderText& text_of(const ArSeq& seq) { return static_cast<DecoderText&>(*seq.state); }

}  // namespace

WhisperDecoder::Block::Block(const Weights& weights, const ModelConfig& c, WeightType type)
    : before_self(weights.scope("self_attn_layer_norm"), c.width(), 1e-5f),
      before_cross(weights.scope("encoder_attn_layer_norm"), c.width(), 1e-5f),
      before_mlp(weights.scope("final_layer_norm"), c.width(), 1e-5f) {
  const int64_t w = c.width();
  const Weights self = weights.scope("self_attn"), cross = weights.scope("encoder_attn");
  const LinearPart all[] = {take_linear(self, "q_proj", w, w, true),
                            take_linear(self, "k_proj", w, w, false),
                            take_linear(self, "v_proj", w, w, true)};
  qkv = PackedLinear::pack(all, type);
  self_out = load_linear(self, "out_proj", w, w, true, type);
  cross_q = load_linear(cross, "q_proj", w, w, true, type);
  const LinearPart memory[] = {take_linear(cross, "k_proj", w, w, false),
                               take_linear(cross, "v_proj", w, w, true)};
  cross_kv = PackedLinear::pack(memory, type);
  cross_out = load_linear(cross, "out_proj", w, w, true, type);
  up = load_linear(weights, "fc1", c.ffn, w, true, type);
  down = load_linear(weights, "fc2", w, c.ffn, true, type);
}

WhisperDecoder::WhisperDecoder(const ModelConfig& config, std::span<const AlignmentHead> heads,
                               const Weights& root, WeightType type)
    : config_(config), looked_at_(static_cast<size_t>(config.layers)) {
  for (const AlignmentHead& head : heads) looked_at_[static_cast<size_t>(head.layer)] = true;
  const Weights weights = root.scope("model.decoder");
  const int64_t w = config.width();
  table_ = Embedding(weights.scope("embed_tokens"), config.vocab, w,
                     type == WeightType::kF32 ? DType::kF32 : DType::kBF16);
  positions_ = weights.f32("embed_positions.weight", {config.max_ids, w});
  for (int64_t i = 0; i < config.layers; ++i)
    blocks_.emplace_back(weights.scope("layers", i), config_, type);
  final_ = LayerNorm(weights.scope("layer_norm"), w, 1e-5f);
  head_ = load_linear(weights, "embed_tokens", config.vocab, w, false, at_least_8_bits(type));
  root.ignore("proj_out.weight");  // the same as the embedding table
  // Each step reads all keys and values of a window, which takes longer than the products.
  const DType numbers = type == WeightType::kF32 ? DType::kF32
                        : is_quantized(type)     ? DType::kI8
                                                 : DType::kF16;
  const KvSpec cache{static_cast<int>(config.layers), static_cast<int>(config.heads),
                     static_cast<int>(w / config.heads), numbers};
  traits_.hidden = config.width();
  traits_.vocab = {static_cast<int>(config.vocab)};
  traits_.kv = {cache};
  traits_.max_positions = WhisperEncoder::kRows + static_cast<int>(config.max_ids) + 1;
  traits_.writes = true;  // writes queries to the sequences of alignments
}

/// The rows of a batch, split: for each sequence, rows of its memory and rows of its ids.
struct WhisperDecoder::Rows {
  Rows(StepContext& ctx, const ArBatch& batch) {
    const auto sequences = std::ssize(batch.seqs);
    memory_begin = take_array<int32_t>(ctx, sequences + 1);
    text_begin = take_array<int32_t>(ctx, sequences + 1);
    memory_len = take_array<int32_t>(ctx, sequences);
    bound = take_array<int32_t>(ctx, sequences);
    for (int64_t b = 0; b < sequences; ++b) {
      const ArSeq& seq = batch.seqs[b];
      bound[b] = text_of(seq).memory_rows();
      const int remembered = std::clamp(bound[b] - seq.first_pos, 0, seq.rows);
      memory_begin[b + 1] = memory_begin[b] + remembered;
      text_begin[b + 1] = text_begin[b] + seq.rows - remembered;
      memory_len[b] = std::min<int32_t>(batch.ragged.kv_len[b], bound[b]);
      aligned = aligned || text_of(seq).aligned() != nullptr;
    }
    memory = text = batch.ragged;
    memory.row_begin = memory_begin, memory.kv_len = memory_len;
    text.row_begin = text_begin;
    memory = resident(ctx, memory);
    text = resident(ctx, text);
  }
  std::span<int32_t> memory_begin, text_begin, memory_len, bound;
  /// Returns the position of row i of sequence b, counted in the sequence's ids.
  int place(const ArBatch& batch, size_t b, int i) const {
    const int rows = text_begin[b + 1] - text_begin[b];
    return batch.ragged.kv_len[b] - rows + (i - text_begin[b]) - bound[b];
  }
  Ragged memory, text;
  bool aligned = false;  // whether any sequence stores attention
};

/// Computes keys and values of the batch's memory rows for all layers.
void WhisperDecoder::remember(StepContext& ctx, const ArBatch& batch, const Rows& rows) const {
  if (rows.memory.rows() == 0) return;
  const Arena::Mark mark(ctx.arena);
  const int64_t n = rows.memory.rows(), w = config_.width();
  const Arena::Mark host_mark(ctx.host);
  const View host = ctx.host.take({n, w}, DType::kF32);
  float* to = host.f32();
  for (size_t b = 0; b < batch.seqs.size(); ++b) {
    const ArSeq& seq = batch.seqs[b];
    for (int i = 0; i < rows.memory_begin[b + 1] - rows.memory_begin[b]; ++i, to += w) {
      const std::span<const float> row = text_of(seq).memory(seq.first_pos + i);
      std::copy(row.begin(), row.end(), to);
    }
  }
  const View x = upload(ctx, host), kv = ctx.arena.take({n, 2 * w}, DType::kF32);
  const int heads = static_cast<int>(config_.heads), dim = static_cast<int>(w / config_.heads);
  for (size_t layer = 0; layer < blocks_.size(); ++layer) {
    linear(ctx, blocks_[layer].cross_kv, x, kv);
    write_kv(ctx, {kv, 0, heads, dim}, {kv, w, heads, dim}, batch.kv[0], static_cast<int>(layer),
             rows.memory);
  }
}

void WhisperDecoder::note_queries(StepContext& ctx, int layer, const ArBatch& batch,
                                  const Rows& rows, const View& q) const {
  const Arena::Mark host_mark(ctx.host);
  const View host = on_host(ctx, q);
  for (size_t b = 0; b < batch.seqs.size(); ++b) {
    AlignedText* text = text_of(batch.seqs[b]).aligned();
    for (int i = rows.text_begin[b]; text != nullptr && i < rows.text_begin[b + 1]; ++i)
      text->note_queries(layer, rows.place(batch, b, i), host.f32() + i * config_.width());
  }
}

/// Stores, for each aligned text, the probabilities of the ids that its rows in this batch predict.
/// Once all of its rows have run, computes the weights of some heads.
void WhisperDecoder::align(StepContext& ctx, const ArBatch& batch, const Rows& rows,
                           const View& x) const {
  for (size_t b = 0; b < batch.seqs.size(); ++b) {
    AlignedText* text = text_of(batch.seqs[b]).aligned();
    if (text == nullptr) continue;
    const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
    const std::span<int32_t> scored =
        take_array<int32_t>(ctx, rows.text_begin[b + 1] - rows.text_begin[b]);
    int64_t count = 0;
    for (int i = rows.text_begin[b]; i < rows.text_begin[b + 1]; ++i)
      if (text->predicts(rows.place(batch, b, i)) >= 0) scored[count++] = i;
    const View some = ctx.arena.take({kScoredRows, config_.width()}, DType::kF32);
    const View logits = ctx.arena.take({kScoredRows, config_.vocab}, DType::kF32);
    for (int64_t at = 0; at < count; at += kScoredRows) {
      const int64_t n = std::min(kScoredRows, count - at);
      const View hidden = some.slice(0, n), out = logits.slice(0, n);
      gather_rows(ctx, x, scored.subspan(at, n), hidden);
      final_(ctx, hidden, hidden);
      linear(ctx, head_, hidden, out);
      const Arena::Mark logits_mark(ctx.host);
      const View host = on_host(ctx, out);
      for (int64_t i = 0; i < n; ++i) {
        text->note_probability(rows.place(batch, b, scored[at + i]),
                               {host.f32() + i * config_.vocab, size_t(config_.vocab)});
      }
    }
    const Ragged& all = batch.ragged;
    if (batch.seqs[b].emits > 0)
      text->weigh(ctx, batch.kv[0], all.page_table.subspan(b * all.max_pages, all.max_pages));
  }
}

void WhisperDecoder::forward(StepContext& ctx, const ArBatch& batch, View hidden) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const Rows rows(ctx, batch);
  remember(ctx, batch, rows);
  const int64_t n = rows.text.rows(), w = config_.width();
  if (n == 0) return;
  const View x = ctx.arena.take({n, w}, DType::kF32), at = ctx.arena.take({n, w}, DType::kF32);
  const std::span<int32_t> ids = take_array<int32_t>(ctx, n), places = take_array<int32_t>(ctx, n);
  ragged_positions(rows.text, places);
  size_t next = 0;
  for (size_t b = 0; b < batch.seqs.size(); ++b) {
    for (int i = rows.text_begin[b]; i < rows.text_begin[b + 1]; ++i, ++next) {
      ids[next] = text_of(batch.seqs[b]).input(places[next]);
      places[next] -= rows.bound[b];
    }
  }
  table_(ctx, ids, x);
  gather_rows(ctx, positions_, places, at);
  add_inplace(ctx, x, at);

  const View normed = ctx.arena.take({n, w}, DType::kF32);
  const View qkv = ctx.arena.take({n, 3 * w}, DType::kF32);
  const View q = ctx.arena.take({n, w}, DType::kF32), mixed = ctx.arena.take({n, w}, DType::kF32);
  const View inner = ctx.arena.take({n, config_.ffn}, DType::kF32);
  const int heads = static_cast<int>(config_.heads), dim = static_cast<int>(w / config_.heads);
  const float scale = 1.f / std::sqrt(static_cast<float>(dim));
  const AttentionSpec self{.scale = scale, .begin = rows.bound};
  const AttentionSpec cross{.scale = scale, .causal = false, .end = rows.bound};
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const Block& block = blocks_[i];
    const int layer = static_cast<int>(i);
    block.before_self(ctx, x, normed);
    linear(ctx, block.qkv, normed, qkv);
    write_and_attend(ctx, {qkv, 0, heads, dim}, {qkv, w, heads, dim}, {qkv, 2 * w, heads, dim},
                     batch.kv[0], layer, rows.text, self, mixed);
    linear_add(ctx, block.self_out, mixed, x);
    block.before_cross(ctx, x, normed);
    linear(ctx, block.cross_q, normed, q);
    if (rows.aligned && looked_at_[i]) note_queries(ctx, layer, batch, rows, q);
    paged_attention(ctx, {q, 0, heads, dim}, batch.kv[0], layer, rows.text, cross, mixed);
    linear_add(ctx, block.cross_out, mixed, x);
    block.before_mlp(ctx, x, normed);
    linear(ctx, block.up, normed, inner);
    activate(ctx, Activation::kGelu, inner, inner);
    linear_add(ctx, block.down, inner, x);
  }
  if (rows.aligned) align(ctx, batch, rows, x);
  if (batch.emits == 0) return;
  const std::span<int32_t> last = take_array<int32_t>(ctx, batch.emits);
  size_t e = 0;
  for (size_t b = 0; b < batch.seqs.size(); ++b) {
    if (batch.seqs[b].emits) last[e++] = rows.text_begin[b + 1] - 1;
  }
  gather_rows(ctx, x, last, hidden);
  final_(ctx, hidden, hidden);
}

/// Computes the probabilities that texts note.
void WhisperDecoder::note(StepContext& ctx, std::span<DecoderText* const> texts,
                          const View& logits) const {
  if (std::ranges::all_of(texts, [](const DecoderText* text) { return text->noted() < 0; })) return;
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const auto count = std::ssize(texts);
  const View ids = ctx.host.take({count, 1}, DType::kI32);
  for (int64_t i = 0; i < count; ++i) ids.i32()[i] = std::max(0, texts[i]->noted());
  const std::span<float> found = take_array<float>(ctx, count);
  if (ctx.device == Device::kCpu) {
    for (int64_t i = 0; i < count; ++i) {
      const float* row = logits.f32() + i * config_.vocab;
      found[i] = probability({row, static_cast<size_t>(config_.vocab)}, ids.i32()[i]);
    }
  } else {
    const View logs = ctx.arena.take({count}, DType::kF32);
    log_probabilities(ctx, logits, upload(ctx, ids), 0, logs);
    fetch(ctx, logs, found);
    synchronize(ctx);
    for (float& value : found) value = std::exp(value);
  }
  for (int64_t i = 0; i < count; ++i)
    if (texts[i]->noted() >= 0) texts[i]->note(found[i]);
}

void WhisperDecoder::logits(StepContext& ctx, int, const ArBatch& batch, View hidden, View,
                            View out) const {
  linear(ctx, head_, hidden, out);
  const Arena::Mark host_mark(ctx.host);
  const auto texts = emitting<DecoderText>(ctx, batch);
  note(ctx, texts, out);
  const std::span<IdLimits> limits = take_array<IdLimits>(ctx, batch.emits);
  for (size_t i = 0; i < limits.size(); ++i) limits[i] = texts[i]->limits();
  limit_ids(ctx, out, limits);
}

}  // namespace syrinx::whisper
