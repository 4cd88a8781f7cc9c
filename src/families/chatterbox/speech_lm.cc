#include "families/chatterbox/speech_lm.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/embedding.h"
#include "nn/stream_pass.h"

namespace syrinx::chatterbox {
VoiceRows::VoiceRows(const ModelConfig& config, const Weights& weights, const View& speech,
                     const View& positions)
    : config_(config), speech_(speech), positions_(positions) {
  const int64_t hidden = config.decoder.hidden;
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
}

/// Returns queries + proj(attention of norm(queries) over norm(seen)).
View VoiceRows::perceive(StepContext& ctx, const View& queries, const View& seen) const {
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

void VoiceRows::prepare(Voice& voice) const {
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
    embed(ctx, speech_, voice.prompt_speech, speech);
    embed(ctx, positions_, positions, speech, true);
    const View first = perceive(ctx, seen, speech);
    seen = perceive(ctx, first, first);
  }
  std::copy_n(seen.f32(), seen.count(), rows.f32() + hidden);
  put_emotion(voice);
}

void VoiceRows::put_emotion(Voice& voice) const {
  const int64_t hidden = config_.decoder.hidden;
  float* row = voice.rows.f32() + (config_.queries + 1) * hidden;
  for (int64_t i = 0; i < hidden; ++i) row[i] = emotion_.f32()[i] * voice.emotion;
}

Voice VoiceRows::with_emotion(const Voice& voice, float degree) const {
  Voice other{.speaker = voice.speaker,
              .prompt_speech = voice.prompt_speech,
              .emotion = degree,
              .rows = voice.rows.clone(),
              .flow = voice.flow};
  other.key = (voice.key ^ std::bit_cast<uint32_t>(degree)) * 0x9E3779B97F4A7C15u;
  put_emotion(other);
  return other;
}

SpeechNets load_speech(const ModelConfig& config, const Weights& weights, WeightType type) {
  const int64_t hidden = config.decoder.hidden;
  CodecLmParts parts =
      lm_parts(config.decoder, weights.scope("tfmr"), type, config.max_positions());
  parts.tables = {weights.take("text_emb.weight", {config.text_vocab, hidden}),
                  weights.take("text_pos_emb.emb.weight", {config.text_positions, hidden}),
                  weights.take("speech_emb.weight", {config.speech_vocab, hidden}),
                  weights.take("speech_pos_emb.emb.weight", {config.speech_positions, hidden})};
  parts.heads.push_back(load_head(weights, "speech_head", config.speech_vocab, hidden, type));
  weights.ignore("text_head.weight");          // only training uses these weights
  weights.ignore("tfmr.embed_tokens.weight");  // unused; the authors' class inherits it
  SpeechNets nets;
  nets.voice_rows = std::make_unique<VoiceRows>(config, weights, parts.tables[2], parts.tables[3]);
  nets.lm = std::make_unique<CodecLm>(std::move(parts));
  return nets;
}

}  // namespace syrinx::chatterbox
