#include "families/llm/language_model.h"

#include "families/llm/answer.h"
#include "families/run_decoder.h"
#include "kernels/activation.h"
#include "kernels/copy.h"
#include "kernels/embedding.h"
#include "nn/cache_type.h"

namespace syrinx::llm {

LanguageModel::LanguageModel(const ModelConfig& config, const Weights& weights, WeightType type)
    : table_scale_(config.table_scale),
      logit_cap_(config.logit_cap),
      decoder_(config.lm, weights.scope(config.names.blocks), type),
      table_(weights.take(config.names.table, {config.vocab, int64_t{config.lm.hidden}})) {
  const View head =
      config.tied ? table_
                  : weights.take(config.names.head, {config.vocab, int64_t{config.lm.hidden}});
  if (config.tied) weights.ignore(config.names.head);
  head_ = PackedLinear::pack(head, at_least_8_bits(type));
  traits_.hidden = config.lm.hidden;
  traits_.vocab = {static_cast<int>(config.vocab)};
  traits_.kv = {config.lm.kv_spec(cache_type(type))};
  traits_.max_positions = static_cast<int>(config.max_positions);
  traits_.drafts = true;
}

void LanguageModel::move_to(Device device) {
  decoder_.move_to(device);
  syrinx::move_to(device, head_);
  table_ = moved_.move(device, table_);
}

void LanguageModel::forward(StepContext& ctx, const ArBatch& batch, View hidden) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const View x = ctx.arena.take({batch.rows, traits_.hidden}, DType::kF32);
  std::span<int32_t> ids = take_array<int32_t>(ctx, batch.rows);
  const std::span<CopySpan> copies = take_array<CopySpan>(ctx, batch.rows);
  size_t row = 0, heard = 0;
  for (const ArSeq& seq : batch.seqs) {
    const Answer& answer = static_cast<const Answer&>(*seq.state);
    for (int i = 0; i < seq.rows; ++i, ++row) {
      ids[row] = answer.input(seq.first_pos + i);
      const std::span<const float> told = answer.row(seq.first_pos + i);
      if (told.empty()) continue;
      SYRINX_CHECK(ctx.device == Device::kCpu && std::ssize(told) == traits_.hidden,
                   "[language model] a row of ", told.size(), " numbers");
      copies[heard++] = {told.data(), x.f32() + static_cast<int64_t>(row) * traits_.hidden,
                         traits_.hidden};
    }
  }
  embed(ctx, table_, ids, x);
  if (table_scale_ != 1) scale_inplace(ctx, x, table_scale_);
  if (heard > 0) copy_spans(ctx, copies.first(heard));
  run_decoder(ctx, decoder_, batch, x, hidden);
}

void LanguageModel::logits(StepContext& ctx, int, const ArBatch&, View hidden, View,
                           View out) const {
  linear(ctx, head_, hidden, out);
  if (logit_cap_ == 0) return;
  scale_inplace(ctx, out, 1 / logit_cap_);
  activate(ctx, Activation::kTanh, out, out);
  scale_inplace(ctx, out, logit_cap_);
}

}  // namespace syrinx::llm
