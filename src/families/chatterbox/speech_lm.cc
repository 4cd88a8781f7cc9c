#include "families/chatterbox/speech_lm.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "families/chatterbox/state.h"
#include "families/run_decoder.h"
#include "kernels/activation.h"
#include "kernels/embedding.h"
#include "nn/cache_type.h"
#include "nn/stream_pass.h"

namespace syrinx::chatterbox {
namespace {

constexpr int kTables = 4;

}  // namespace

SpeechLm::SpeechLm(const ModelConfig& config, const Weights& weights, WeightType type)
    : config_(config), decoder_(config.decoder, weights.scope("tfmr"), type) {
  const int64_t hidden = config.decoder.hidden;
  tables_ = {weights.take("text_emb.weight", {config.text_vocab, hidden}),
             weights.take("text_pos_emb.emb.weight", {config.text_positions, hidden}),
             weights.take("speech_emb.weight", {config.speech_vocab, hidden}),
             weights.take("speech_pos_emb.emb.weight", {config.speech_positions, hidden})};
  host_tables_ = tables_;
  head_ = load_linear(weights, "speech_head", config.speech_vocab, hidden, false,
                      at_least_8_bits(type));
  weights.ignore("text_head.weight");          // of the training only
  weights.ignore("tfmr.embed_tokens.weight");  // of the class that it was made from
  const Weights cond = weights.scope("cond_enc"), block = cond.scope("perceiver").scope("attn");
  const auto load = [&](const Weights& w, const char* name, int64_t in, bool bias) {
    return load_linear(w, name, hidden, in, bias, WeightType::kF32);
  };
  speaker_ = load(cond, "spkr_enc", config.speaker, true);
  emotion_ = cond.f32("emotion_adv_fc.weight", {hidden, 1});
  queries_ = cond.f32("perceiver.pre_attention_query", {1, config.queries, hidden});
  norm_ = LayerNorm(block.scope("norm"), hidden, 1e-5f);
  q_ = load(block, "to_q", hidden, true);
  k_ = load(block, "to_k", hidden, true);
  v_ = load(block, "to_v", hidden, true);
  mixed_ = load(block, "proj_out", hidden, true);
  traits_.hidden = static_cast<int>(hidden);
  traits_.vocab = {static_cast<int>(config.speech_vocab)};
  traits_.kv = {config.decoder.kv_spec(cache_type(type))};
  traits_.max_positions =
      static_cast<int>(2 + config.queries + config.text_positions + config.speech_positions);
}

/// queries + proj(attention of norm(queries) over norm(seen)).
View SpeechLm::perceive(StepContext& ctx, const View& queries, const View& seen) const {
  const int64_t n = queries.shape[0], m = seen.shape[0], width = queries.shape[1];
  const int64_t heads = config_.perceiver_heads, dim = width / heads;
  const View a = take_rows(ctx, n, width), b = take_rows(ctx, m, width);
  const View q = take_rows(ctx, n, width), k = take_rows(ctx, m, width);
  const View v = take_rows(ctx, m, width), mixed = take_rows(ctx, n, width);
  const View out = take_rows(ctx, n, width);
  norm_(ctx, queries, a);
  norm_(ctx, seen, b);
  linear(ctx, q_, a, q);
  linear(ctx, k_, b, k);
  linear(ctx, v_, b, v);
  std::vector<double> weight(static_cast<size_t>(m));
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t h = 0; h < heads; ++h) {
      double top = -INFINITY, total = 0;
      for (int64_t j = 0; j < m; ++j) {
        double score = 0;
        for (int64_t d = h * dim; d < (h + 1) * dim; ++d) {
          score += double{q.f32()[i * width + d]} * k.f32()[j * width + d];
        }
        weight[j] = score / std::sqrt(static_cast<double>(dim));
        top = std::max(top, weight[j]);
      }
      for (double& w : weight) total += w = std::exp(w - top);
      for (int64_t d = h * dim; d < (h + 1) * dim; ++d) {
        double sum = 0;
        for (int64_t j = 0; j < m; ++j) sum += weight[j] / total * v.f32()[j * width + d];
        mixed.f32()[i * width + d] = static_cast<float>(sum);
      }
    }
  }
  std::copy_n(queries.f32(), queries.count(), out.f32());
  linear_add(ctx, mixed_, mixed, out);
  return out;
}

void SpeechLm::prepare(Voice& voice) const {
  const int64_t hidden = config_.decoder.hidden, queries = config_.queries;
  ThreadPool pool(1);
  Arena arena;
  StepContext ctx{pool, arena};
  voice.rows = Tensor({queries + 2, hidden}, DType::kF32);
  const View rows = voice.rows;
  const View speaker = take_rows(ctx, 1, config_.speaker);
  std::copy(voice.speaker.begin(), voice.speaker.end(), speaker.f32());
  linear(ctx, speaker_, speaker, rows.slice(0, 1));
  const auto count = static_cast<int64_t>(voice.prompt_speech.size());
  View seen = queries_.view().reshape({queries, hidden});
  if (count > 0) {
    const View speech = take_rows(ctx, count, hidden);
    std::vector<int32_t> positions;
    for (int64_t i = 0; i < count; ++i) positions.push_back(static_cast<int32_t>(i));
    embed(ctx, host_tables_[2], voice.prompt_speech, speech);
    embed(ctx, host_tables_[3], positions, speech, true);
    const View first = perceive(ctx, seen, speech);
    seen = perceive(ctx, first, first);
  }
  std::copy_n(seen.f32(), seen.count(), rows.f32() + hidden);
  put_emotion(voice);
}

/// The last of the voice's rows.
void SpeechLm::put_emotion(Voice& voice) const {
  const int64_t hidden = config_.decoder.hidden;
  float* row = voice.rows.f32() + (config_.queries + 1) * hidden;
  for (int64_t i = 0; i < hidden; ++i) row[i] = emotion_.f32()[i] * voice.emotion;
}

Voice SpeechLm::with_emotion(const Voice& voice, float degree) const {
  Voice other{.speaker = voice.speaker,
              .prompt_speech = voice.prompt_speech,
              .emotion = degree,
              .rows = voice.rows.clone(),
              .flow = voice.flow};
  other.key = (voice.key ^ std::bit_cast<uint32_t>(degree)) * 0x9E3779B97F4A7C15u;
  put_emotion(other);
  return other;
}

void SpeechLm::move_to(Device device) {
  decoder_.move_to(device);
  syrinx::move_to(device, head_);
  for (View& table : tables_) table = moved_.move(device, table);
}

View SpeechLm::embed_rows(StepContext& ctx, const ArBatch& batch) const {
  const int64_t hidden = traits_.hidden;
  const View x = take_rows(ctx, batch.rows, hidden);
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const std::span<int32_t> ids = take_array<int32_t>(ctx, batch.rows * int64_t{kTables});
  size_t row = 0;
  for (const ArSeq& seq : batch.seqs) {
    const State& state = static_cast<const State&>(*seq.state);
    for (int i = 0; i < seq.rows; ++i, ++row) {
      const Row input = state.input(seq.first_pos + i, seq.companion);
      const int32_t all[kTables] = {input.text, input.text_position, input.speech,
                                    input.speech_position};
      std::copy_n(all, kTables, ids.begin() + static_cast<std::ptrdiff_t>(row * kTables));
    }
  }
  embed_sum(ctx, tables_, ids, x);
  row = 0;
  for (const ArSeq& seq : batch.seqs) {  // rows of the voice are vectors, not ids
    const View& voice = static_cast<const State&>(*seq.state).voice_rows();
    for (int i = 0; i < seq.rows; ++i, ++row) {
      const int64_t pos = seq.first_pos + i;
      if (pos >= voice.shape[0]) continue;
      store(ctx, {voice.f32() + pos * hidden, static_cast<size_t>(hidden)},
            x.slice(static_cast<int64_t>(row), static_cast<int64_t>(row) + 1));
    }
  }
  return x;
}

void SpeechLm::forward(StepContext& ctx, const ArBatch& batch, View hidden) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  run_decoder(ctx, decoder_, batch, embed_rows(ctx, batch), hidden);
}

void SpeechLm::logits(StepContext& ctx, int, const ArBatch&, View hidden, View, View out) const {
  linear(ctx, head_, hidden, out);
}

size_t SpeechLm::table_bytes() const {
  size_t sum = 0;
  for (const View& table : tables_) sum += table.bytes();
  return sum;
}

}  // namespace syrinx::chatterbox
