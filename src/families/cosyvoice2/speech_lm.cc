#include "families/cosyvoice2/speech_lm.h"

#include "families/cosyvoice2/state.h"
#include "families/run_decoder.h"
#include "kernels/embedding.h"
#include "nn/cache_type.h"

namespace syrinx::cosyvoice2 {
namespace {

constexpr int64_t kTables = 3, kControlRows = 2;

}  // namespace

SpeechLm::SpeechLm(const ModelConfig& config, const Weights& weights, WeightType type)
    : decoder_(config.decoder, weights.scope("llm.model.model"), type) {
  const int64_t hidden = config.decoder.hidden, speech = config.speech_vocab();
  tables_ = {weights.take("llm.model.model.embed_tokens.weight", {config.text_vocab, hidden}),
             weights.take("llm_embedding.weight", {kControlRows, hidden}),
             weights.take("speech_embedding.weight", {speech, hidden})};
  head_ = load_linear(weights, "llm_decoder", speech, hidden, true, at_least_8_bits(type));
  weights.ignore("llm.model.lm_head.weight");  // of the text model that it was made from
  traits_.hidden = static_cast<int>(hidden);
  traits_.vocab = {static_cast<int>(speech)};
  traits_.kv = {config.decoder.kv_spec(cache_type(type))};
  traits_.max_positions = static_cast<int>(config.max_positions);
}

void SpeechLm::move_to(Device device) {
  decoder_.move_to(device);
  syrinx::move_to(device, head_);
  for (View& table : tables_) table = moved_.move(device, table);
}

View SpeechLm::embed_rows(StepContext& ctx, const ArBatch& batch) const {
  const View x = ctx.arena.take({batch.rows, traits_.hidden}, DType::kF32);
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const std::span<int32_t> ids = take_array<int32_t>(ctx, batch.rows * kTables);
  std::fill(ids.begin(), ids.end(), -1);
  size_t row = 0;
  for (const ArSeq& seq : batch.seqs) {
    const State& state = static_cast<const State&>(*seq.state);
    for (int i = 0; i < seq.rows; ++i, ++row) {
      const Row input = state.input(seq.first_pos + i);
      ids[row * kTables + static_cast<size_t>(input.table)] = input.id;
    }
  }
  embed_sum(ctx, tables_, ids, x);
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

}  // namespace syrinx::cosyvoice2
