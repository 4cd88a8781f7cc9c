#include "families/kyutai_tts/speech_lm.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/activation.h"
#include "kernels/copy.h"
#include "kernels/embedding.h"
#include "nn/cache_type.h"
#include "nn/stream_pass.h"

namespace syrinx::kyutai_tts {
namespace {

State& state_of(const ArSeq& seq) { return static_cast<State&>(*seq.state); }

/// Computes the rows [values, H] of a condition; each adds `more` [H] unless it is empty.
Tensor rows_of(const Weights& weights, const Choice& choice, int64_t width, const View& more) {
  const auto count = static_cast<int64_t>(choice.values.size());
  const Tensor table = weights.f32("embed.weight", {choice.bins + 1, choice.width});
  const Tensor raise = weights.f32("output_proj.weight", {width, choice.width});
  weights.ignore("learnt_padding");  // for requests without a value
  Tensor out({count, width}, DType::kF32);
  for (int64_t v = 0; v < count; ++v) {
    for (int64_t h = 0; h < width; ++h) {
      double sum = more.empty() ? 0 : more.f32()[h];
      for (int64_t i = 0; i < choice.width; ++i)
        sum += double{table.f32()[v * choice.width + i]} * raise.f32()[h * choice.width + i];
      out.f32()[v * width + h] = static_cast<float>(sum);
    }
  }
  return out;
}

}  // namespace

SpeechLm::SpeechLm(const ModelConfig& config, const Weights& weights, WeightType type)
    : config_(config),
      decoder_(config.lm, weights, type, 1, type == WeightType::kF32 ? DType::kF32 : DType::kF16),
      text_(weights.scope("text_emb"), config.text_in + 1, config.lm.hidden, config.lm.hidden,
            type),
      head_(load_linear(weights, "text_linear", config.text_out, config.lm.hidden, config.biased,
                        at_least_8_bits(type))),
      depth_(config, weights, type) {
  const int64_t width = config.lm.hidden;
  for (int q = 0; q < config.codebooks(); ++q)
    tables_.push_back(weights.scope("emb", q).take("weight", {config.card + 1, width}));
  const Weights all = weights.scope("condition_provider").scope("conditioners");
  const Tensor control = rows_of(all.scope("control"), config.control, width, {});
  conditions_ = rows_of(all.scope("cfg"), config.guidance, width, control);
  const Weights speaker = all.scope("speaker_wavs");
  // The package keeps its conditions in f32.
  speaker_ =
      load_linear(speaker, "output_proj", width, config.speaker_width, false, WeightType::kF32);
  absent_ = speaker.f32("learnt_padding", {1, 1, width});
  // moshi:moshi/modules/transformer.py, create_sin_embedding()
  const int64_t half = width / 2;
  for (int64_t i = 0; i < half; ++i)
    periods_.push_back(static_cast<float>(std::pow(10000.0, double(i) / double(half - 1))));
  not_computed_ = Tensor({std::max(config.text_out, config.card)}, DType::kF32);
  std::fill_n(not_computed_.f32(), not_computed_.shape().count(),
              -std::numeric_limits<float>::infinity());
  traits_.hidden = config.lm.hidden;
  traits_.vocab.assign(static_cast<size_t>(config.codebooks()) + 1, static_cast<int>(config.card));
  traits_.vocab[0] = static_cast<int>(config.text_out);
  traits_.kv = {config.lm.kv_spec(type == WeightType::kF32 ? DType::kF32 : DType::kF16)};
  traits_.max_positions = SpeakerRows::kPlaces * SpeakerRows::kMost + State::kSteps + 1;
  traits_.writes = true;  // writes keys and values to the sequences
}

void SpeechLm::move_to(Device device) {
  place_.move(device, decoder_, tables_, text_, head_, speaker_, conditions_, depth_,
              not_computed_);
}

/// Computes keys and values of the batch's rows of voices.
void SpeechLm::remember(StepContext& ctx, const ArBatch& batch) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const auto sequences = std::ssize(batch.seqs);
  const std::span<int32_t> begin = take_array<int32_t>(ctx, sequences + 1);
  const std::span<int32_t> length = take_array<int32_t>(ctx, sequences);
  for (int64_t b = 0; b < sequences; ++b) {
    const ArSeq& seq = batch.seqs[static_cast<size_t>(b)];
    const int bound = state_of(seq).memory_rows();
    begin[b + 1] = begin[b] + std::clamp(bound - seq.first_pos, 0, seq.rows);
    length[b] = std::min(seq.first_pos + seq.rows, bound);
  }
  const int64_t rows = begin.back(), width = config_.lm.hidden, half = width / 2;
  if (rows == 0) return;
  // Rows of the voice, and what is added after the layer: marks of absence, and positions.
  const std::span<float> given = take_array<float>(ctx, rows * config_.speaker_width),
                         more = take_array<float>(ctx, rows * width);
  const View x = take_rows(ctx, rows, width), host_x{more.data(), DType::kF32, x.shape};
  const auto each = [&](const auto& run) {
    for (int64_t b = 0; b < sequences; ++b) {
      const ArSeq& seq = batch.seqs[static_cast<size_t>(b)];
      for (int32_t i = begin[b]; i < begin[b + 1]; ++i)
        run(i, state_of(seq), seq.first_pos + i - begin[b]);
    }
  };
  each([&](int64_t i, const State& state, int at) {
    const std::span<const float> memory = state.memory(at);
    std::ranges::copy(memory, given.data() + i * config_.speaker_width);
    float* row = more.data() + i * width;
    if (memory.empty()) std::copy_n(absent_.f32(), width, row);
    for (int64_t h = 0; config_.positions && h < half; ++h) {
      const float angle = static_cast<float>(at) / periods_[static_cast<size_t>(h)];
      row[h] += config_.position_scale * std::cos(angle);
      row[h + half] += config_.position_scale * std::sin(angle);
    }
  });
  linear(ctx, speaker_, upload(ctx, {given.data(), DType::kF32, {rows, config_.speaker_width}}), x);
  add_inplace(ctx, x, upload(ctx, host_x));
  Ragged ragged = batch.ragged;
  ragged.row_begin = begin, ragged.kv_len = length, ragged.on_device = nullptr;
  decoder_.remember(ctx, x, {ragged, &batch.kv[0]});
}

/// Returns the input rows [E, H], in the arena.
View SpeechLm::inputs(StepContext& ctx, std::span<State* const> states) const {
  const auto count = std::ssize(states);
  const View x = take_rows(ctx, count, config_.lm.hidden);
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const size_t books = tables_.size();
  const std::span<int32_t> codes = take_array<int32_t>(ctx, count * std::ssize(tables_));
  const std::span<TextIds> ids = take_array<TextIds>(ctx, count);
  const std::span<int32_t> scales = take_array<int32_t>(ctx, count);
  for (size_t e = 0; e < states.size(); ++e) {
    std::ranges::copy(states[e]->codes(), codes.begin() + static_cast<std::ptrdiff_t>(e * books));
    ids[e] = states[e]->text();
    scales[e] = states[e]->guidance_index();
  }
  embed_sum(ctx, tables_, codes, x);
  text_.add(ctx, ids, x);
  embed(ctx, conditions_, scales, x, true);
  return x;
}

void SpeechLm::forward(StepContext& ctx, const ArBatch& batch, View hidden) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  remember(ctx, batch);
  if (batch.emits == 0) return;
  const auto states = emitting<State>(ctx, batch);
  const int64_t emits = batch.emits;
  const std::span<StreamRows> streams = take_array<StreamRows>(ctx, emits);
  const std::span<int32_t> begin = take_array<int32_t>(ctx, emits + 1);
  const std::span<int32_t> length = take_array<int32_t>(ctx, emits);
  const auto pages = static_cast<size_t>(batch.ragged.max_pages);
  const std::span<int32_t> table = take_array<int32_t>(ctx, emits * batch.ragged.max_pages);
  size_t e = 0;
  for (size_t b = 0; b < batch.seqs.size(); ++b) {
    if (batch.seqs[b].emits == 0) continue;
    decoder_.room(ctx, states[e]->kv());
    streams[e] = {&states[e]->kv(), 1};
    begin[e + 1] = begin[e] + 1;
    length[e] = states[e]->memory_rows();
    std::ranges::copy(batch.ragged.page_table.subspan(b * pages, pages),
                      table.begin() + static_cast<std::ptrdiff_t>(e * pages));
    ++e;
  }
  const DecoderMemory memory{{begin, length, table, batch.ragged.max_pages}, &batch.kv[0]};
  const View x = inputs(ctx, states);
  decoder_.forward(ctx, x, streams, &memory);
  decoder_.norm(ctx, x, hidden);
}

void SpeechLm::logits(StepContext& ctx, int k, const ArBatch& batch, View hidden, View codes,
                      View out) const {
  const Arena::Mark host_mark(ctx.host);
  const auto states = emitting<State>(ctx, batch);
  if (k > 0) return depth_logits(ctx, k - 1, states, hidden, codes, batch.scratch, out);
  const bool free = std::ranges::any_of(states, [](State* s) { return s->rule(0).forced < 0; });
  if (free) return linear(ctx, head_, hidden, out);
  skip_logits(ctx, out);
}

/// Writes the logits of rows whose codes are forced.
void SpeechLm::skip_logits(StepContext& ctx, const View& out) const {
  const Arena::Mark host_mark(ctx.host);
  const std::span<CopySpan> rows = take_array<CopySpan>(ctx, out.shape[0]);
  for (size_t e = 0; e < rows.size(); ++e) {
    rows[e] = {not_computed_.f32(), out.f32() + static_cast<int64_t>(e) * out.shape[1],
               out.shape[1]};
  }
  copy_spans(ctx, rows);
}

/// Runs the depth decoder for the sequences that make codes in this step.
void SpeechLm::depth_logits(StepContext& ctx, int q, std::span<State* const> states,
                            const View& hidden, const View& codes, const View& scratch,
                            const View& out) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const auto all = std::ssize(states);
  const std::span<int32_t> rows = take_array<int32_t>(ctx, all);
  const std::span<TextIds> word = take_array<TextIds>(ctx, all);
  const std::span<TextIds> frame = take_array<TextIds>(ctx, all);
  size_t count = 0;
  for (size_t e = 0; e < states.size(); ++e) {
    if (!states[e]->makes_codes()) continue;
    word[count] = states[e]->text_after(kNewWord);
    frame[count] = states[e]->text_after(kPad);
    rows[count++] = static_cast<int32_t>(e);
  }
  if (count < states.size()) skip_logits(ctx, out);
  if (count == 0) return;
  const FrameRows made{rows.first(count), word.first(count), frame.first(count)};
  if (count == states.size()) return depth_.logits(ctx, q, hidden, codes, made, scratch, out);
  const View logits = take_rows(ctx, static_cast<int64_t>(count), out.shape[1]);
  depth_.logits(ctx, q, hidden, codes, made, scratch, logits);
  const std::span<CopySpan> places = take_array<CopySpan>(ctx, std::ssize(made.rows));
  for (size_t i = 0; i < count; ++i) {
    places[i] = {logits.f32() + static_cast<int64_t>(i) * out.shape[1],
                 out.f32() + rows[i] * out.shape[1], out.shape[1]};
  }
  copy_spans(ctx, places);
}

}  // namespace syrinx::kyutai_tts
