#include "families/vibevoice/speech_lm.h"

#include <algorithm>

#include "families/given_kv.h"
#include "families/scatter_rows.h"
#include "families/vibevoice/state.h"
#include "kernels/activation.h"
#include "kernels/copy.h"
#include "kernels/embedding.h"
#include "kernels/solver.h"
#include "model/input_rows.h"
#include "nn/binary_head.h"
#include "nn/cache_type.h"
#include "nn/stream_pass.h"

namespace syrinx::vibevoice {
namespace {

constexpr float kConnectorEps = 1e-6f;

}  // namespace

/// The rows of a batch by kind. The first rows of a sequence are those of its voice (GivenKv). All
/// other rows run through the networks.
struct SpeechLm::Rows {
  BatchRows all;
  GivenKv kv;
  View x;                             // [rows that run, H]
  Ragged text;                        // the rows of ids
  std::span<int32_t> texts, latents;  // indices in x of the rows of ids and of latents
  std::span<int32_t> text_ids;        // ids of `texts`
  std::span<int32_t> latent_rows;     // indices in the batch of the rows `latents`
  /// Indices in x of the rows that yield a step. For a row of a voice: -1 - its index in the batch.
  std::span<int32_t> emitting;
};

SpeechLm::SpeechLm(const ModelConfig& config, const Weights& root, WeightType type)
    : config_(config),
      table_(root.scope("model.language_model")
                 .take("embed_tokens.weight", {config.vocab, config.hidden()})),
      types_(root.scope("model.tts_input_types").f32("weight", {2, config.hidden()})),
      text_(config.text, root.scope("model.language_model"), type),
      speech_(config.speech, root.scope("model.tts_language_model"), type),
      head_(config, root.scope("model.prediction_head"), type) {
  const int64_t width = config.hidden();
  const WeightType small = at_least_8_bits(type);
  const Weights connector = root.scope("model.acoustic_connector");
  connect_ = load_linear(connector, "fc1", width, config.latent(), true, small);
  connector_norm_ = RmsNorm(connector.scope("norm"), width, kConnectorEps);
  connected_ = load_linear(connector, "fc2", width, width, true, small);
  const Weights end = root.scope("tts_eos_classifier");
  end_ = load_linear(end, "fc1", width, width, true, small);
  end_head_ = load_binary_head(end, "fc2", width, 0, small);
  KvSpec cache = config.speech.kv_spec(cache_type(type));
  cache.layers += config.text.layers;
  traits_.hidden = static_cast<int>(width);
  traits_.vocab = {2};
  traits_.kv = {cache};
  traits_.max_positions = static_cast<int>(config.max_positions);
  traits_.values = static_cast<int>(config.latent());
}

SpeechLm::Rows SpeechLm::sort_rows(StepContext& ctx, const ArBatch& batch) const {
  const int64_t count = std::ssize(batch.seqs), n = batch.rows;
  Rows out;
  out.all = fill_rows(ctx, batch, kTables);
  out.kv = split_given_kv(ctx, batch, out.all.given, config_.cache_row(), [&](GivenRow vector) {
    return std::ssize(vector) >= config_.cache_row();
  });
  const std::span<int32_t> text = take_array<int32_t>(ctx, count + 1);
  const std::span<int32_t> text_len = take_array<int32_t>(ctx, count);
  const std::span<int32_t> texts = take_array<int32_t>(ctx, n), ids = take_array<int32_t>(ctx, n);
  const std::span<int32_t> latents = take_array<int32_t>(ctx, n);
  const std::span<int32_t> latent_rows = take_array<int32_t>(ctx, n);
  out.emitting = take_array<int32_t>(ctx, batch.emits);
  size_t text_count = 0, latent_count = 0, emitting = 0;
  for (size_t b = 0; b < batch.seqs.size(); ++b) {
    const int32_t at = out.kv.running[b], end = batch.ragged.row_begin[b + 1];
    text_len[b] = 1;  // without rows of text, nothing reads this length, but it must be valid
    const size_t first_text = text_count;
    for (int32_t row = at; row < end; ++row) {
      const int32_t index = out.kv.index(b, row);
      if (!out.all.given[static_cast<size_t>(row)].empty()) {
        latent_rows[latent_count] = row;
        latents[latent_count++] = index;
        continue;
      }
      const int32_t* made_of = out.all.ids.data() + static_cast<size_t>(row) * kTables;
      if (text_count == first_text) text_len[b] = made_of[1];
      ids[text_count] = made_of[0];
      texts[text_count++] = index;
    }
    text[b + 1] = static_cast<int32_t>(text_count);
    if (text_count > first_text) text_len[b] += static_cast<int32_t>(text_count - first_text);
    for (int i = batch.seqs[b].emits; i > 0; --i) {
      const int32_t row = end - i;
      out.emitting[emitting++] = row < at ? -1 - row : out.kv.index(b, row);
    }
  }
  out.texts = texts.first(text_count), out.text_ids = ids.first(text_count);
  out.latents = latents.first(latent_count), out.latent_rows = latent_rows.first(latent_count);
  const Ragged& r = batch.ragged;
  out.text = resident(ctx, {text, text_len, r.page_table, r.max_pages});
  out.x = take_rows(ctx, out.kv.run.rows(), config_.hidden());
  return out;
}

void SpeechLm::make_inputs(StepContext& ctx, const ArBatch& batch, const Rows& rows) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const int64_t width = config_.hidden(), latent = config_.latent();
  const auto type = [&](int64_t number) {
    return types_.view().slice(number, number + 1).reshape({width});
  };
  if (!rows.texts.empty()) {
    const View text = take_rows(ctx, std::ssize(rows.texts), width);
    embed(ctx, table_, rows.text_ids, text);
    text_.forward(ctx, text, rows.text, batch.kv[0]);
    add_bias_inplace(ctx, text, type(1));
    scatter_rows(ctx, text, rows.texts, rows.x);
  }
  if (rows.latents.empty()) return;
  const auto count = std::ssize(rows.latents);
  const std::span<float> latents = take_array<float>(ctx, count * latent);
  const View speech = take_rows(ctx, count, width), made = take_rows(ctx, count, width);
  for (int64_t i = 0; i < count; ++i) {
    const GivenRow vector =
        rows.all.given[static_cast<size_t>(rows.latent_rows[static_cast<size_t>(i)])];
    SYRINX_CHECK(std::ssize(vector) == latent, "wrong latent size ", vector.size());
    std::ranges::copy(vector, latents.data() + i * latent);
  }
  linear(ctx, connect_, upload(ctx, {latents.data(), DType::kF32, {count, latent}}), speech);
  connector_norm_(ctx, speech, speech);
  linear(ctx, connected_, speech, made);
  add_bias_inplace(ctx, made, type(0));
  scatter_rows(ctx, made, rows.latents, rows.x);
}

void SpeechLm::forward(StepContext& ctx, const ArBatch& batch, View hidden) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const Rows rows = sort_rows(ctx, batch);
  rows.kv.write(ctx, batch.kv[0], config_.text.layers + config_.speech.layers,
                config_.speech.kv_heads, config_.speech.head_dim);
  make_inputs(ctx, batch, rows);
  if (rows.kv.run.rows() > 0) {
    speech_.forward(ctx, rows.x, rows.kv.run, batch.kv[0], config_.text.layers);
  }
  const int64_t width = config_.hidden();
  const std::span<int32_t> from = take_array<int32_t>(ctx, batch.emits),
                           to = take_array<int32_t>(ctx, batch.emits);
  size_t ran = 0;
  for (int32_t e = 0; e < batch.emits; ++e) {
    const int32_t row = rows.emitting[static_cast<size_t>(e)];
    if (row >= 0) {
      from[ran] = row, to[ran++] = e;
      continue;
    }
    // The last row of a companion's voice, which contains its output.
    const GivenRow vector = rows.all.given[static_cast<size_t>(-1 - row)];
    SYRINX_CHECK(std::ssize(vector) == config_.cache_row() + width,
                 "[speech_lm] invalid last row of a voice: ", vector.size(), " numbers");
    store(ctx, vector.subspan(static_cast<size_t>(config_.cache_row())), hidden.slice(e, e + 1));
  }
  if (ran == 0) return;
  const View normed = take_rows(ctx, static_cast<int64_t>(ran), width);
  speech_.norm_rows(ctx, rows.x, from.first(ran), normed);
  scatter_rows(ctx, normed, to.first(ran), hidden);
}

void SpeechLm::logits(StepContext& ctx, int, const ArBatch& batch, View hidden, View,
                      View out) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const View inner = take_rows(ctx, batch.emits, config_.hidden());
  linear(ctx, end_, hidden, inner);
  activate(ctx, Activation::kRelu, inner, inner);
  linear(ctx, end_head_, inner, out);
  const std::span<CopySpan> copies = take_array<CopySpan>(ctx, batch.emits);
  size_t companions = 0;
  int64_t e = 0;
  for (const ArSeq& seq : batch.seqs) {
    if (seq.emits == 0) continue;
    float* row = out.f32() + 2 * e++;
    if (seq.companion) copies[companions++] = {row - 2, row, 2};
  }
  copy_spans(ctx, copies.first(companions));
}

void SpeechLm::values(StepContext& ctx, const ArBatch& batch, View hidden, View, View out) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const int64_t latent = config_.latent(), width = config_.hidden();
  // For each latent its state, its row, the row of its companion or again its own, and its scale.
  const std::span<State*> states = take_array<State*>(ctx, batch.emits);
  const std::span<int32_t> rows = take_array<int32_t>(ctx, batch.emits),
                           companions = take_array<int32_t>(ctx, batch.emits);
  const std::span<float> scales = take_array<float>(ctx, batch.emits);
  size_t count = 0;
  bool guided = false, looking = false;
  int32_t e = -1;
  for (const ArSeq& seq : batch.seqs) {
    if (seq.emits == 0) continue;
    ++e;
    if (seq.companion) {
      if (looking) continue;
      companions[count - 1] = e, guided = true;
      continue;
    }
    auto& state = static_cast<State&>(*seq.state);
    looking = state.looking();
    if (looking) continue;
    states[count] = &state;
    scales[count] = state.guidance().value_or(1);
    rows[count] = companions[count] = e;
    ++count;
  }
  fill_zeros(ctx, out);
  const auto n = static_cast<int64_t>(count);
  const View x = take_rows(ctx, n, latent), own = take_rows(ctx, n, width);
  const View others = guided ? take_rows(ctx, n, width) : View{};
  store(ctx, draw_noise<State>(ctx, states.first(count), latent), x);
  gather_rows(ctx, hidden, rows.first(count), own);
  if (guided) gather_rows(ctx, hidden, companions.first(count), others);
  head_.run(ctx, own, others, upload(ctx, {scales.data(), DType::kF32, {n}}), x);
  scatter_rows(ctx, x, rows.first(count), out);
}

}  // namespace syrinx::vibevoice
