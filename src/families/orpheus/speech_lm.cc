#include "families/orpheus/speech_lm.h"

#include "families/orpheus/state.h"
#include "families/run_decoder.h"
#include "kernels/embedding.h"
#include "nn/cache_type.h"

namespace syrinx::orpheus {

SpeechLm::SpeechLm(const ModelConfig& config, const Weights& weights, WeightType type)
    : decoder_(config.lm, weights.scope("model"), type),
      table_(weights.scope("model").take("embed_tokens.weight",
                                         {config.vocab, int64_t{config.lm.hidden}})) {
  const int64_t hidden = config.lm.hidden, begin = config.audio_begin();
  const View head = config.tied ? table_ : weights.take("lm_head.weight", {config.vocab, hidden});
  if (config.tied) weights.ignore("lm_head.weight");
  head_ = PackedLinear::pack(head.slice(begin, begin + config.audio_ids()), at_least_8_bits(type));
  traits_.hidden = config.lm.hidden;
  traits_.vocab = {config.audio_ids()};
  traits_.kv = {config.lm.kv_spec(cache_type(type))};
  traits_.max_positions = static_cast<int>(config.max_positions);
}

void SpeechLm::move_to(Device device) {
  decoder_.move_to(device);
  syrinx::move_to(device, head_);
  table_ = moved_.move(device, table_);
}

void SpeechLm::forward(StepContext& ctx, const ArBatch& batch, View hidden) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const View x = ctx.arena.take({batch.rows, traits_.hidden}, DType::kF32);
  std::span<int32_t> ids = take_array<int32_t>(ctx, batch.rows);
  size_t row = 0;
  for (const ArSeq& seq : batch.seqs) {
    const State& state = static_cast<const State&>(*seq.state);
    for (int i = 0; i < seq.rows; ++i) ids[row++] = state.input(seq.first_pos + i);
  }
  embed(ctx, table_, ids, x);
  run_decoder(ctx, decoder_, batch, x, hidden);
}

void SpeechLm::logits(StepContext& ctx, int, const ArBatch&, View hidden, View, View out) const {
  linear(ctx, head_, hidden, out);
}

}  // namespace syrinx::orpheus
