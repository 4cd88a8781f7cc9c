#include "families/opuslm/speech_lm.h"

#include "families/opuslm/state.h"
#include "kernels/embedding.h"

namespace syrinx::opuslm {
namespace {

constexpr int64_t kHeadRows = 12;  // of head_emb, however many streams there are

/// What the parts are called: in ESPnet's own files, or after its converter.
struct Names {
  const char *table, *head, *streams, *decoder;
};
constexpr Names kEspnet{"corelm.emb.weight", "corelm.lm_head.weight", "corelm.head_emb.weight",
                        "corelm.decoders.model"};
constexpr Names kConverted{"model.embed_tokens.weight", "lm_head.weight", "head_emb.weight",
                           "model"};

/// OLMo 2 has norms after its branches and over all heads; Llama has neither.
DecoderConfig with_norms(DecoderConfig c, const Weights& decoder) {
  if (!decoder.has("layers.0.self_attn.q_norm.weight")) return c;
  c.norm_after = c.qk_norm = c.qk_norm_wide = true;
  c.names.attention_norm = "post_attention_layernorm";
  c.names.mlp_norm = "post_feedforward_layernorm";
  return c;
}

/// Rows [begin, end) of the head with the constant that the stream adds: W e.
struct HeadPart {
  Tensor constant;
  LinearPart part;
};

HeadPart head_part(const View& head, int64_t begin, int64_t end, std::span<const float> stream) {
  HeadPart out;
  out.part.weight = head.slice(begin, end);
  out.constant = Tensor({end - begin}, DType::kF32);
  std::vector<float> row(stream.size());
  for (int64_t r = begin; r < end; ++r) {
    const auto width = static_cast<int64_t>(row.size());
    copy_as_f32(head, r * width, width, row.data());
    double sum = 0;
    for (size_t i = 0; i < row.size(); ++i) sum += double{row[i]} * stream[i];
    out.constant.f32()[r - begin] = static_cast<float>(sum);
  }
  out.part.bias = out.constant;
  return out;
}

}  // namespace

SpeechLm::SpeechLm(const ModelConfig& config, const Weights& weights, WeightType type) {
  const Names& names = weights.has(kEspnet.table) ? kEspnet : kConverted;
  const Weights decoder = weights.scope(names.decoder);
  decoder_ = Decoder(with_norms(config.lm, decoder), decoder, type);
  weights.ignore("criterion.*");  // of the training
  const int64_t width = config.lm.hidden;
  const View table = weights.take(names.table, {config.vocab, width});
  const View head = weights.take(names.head, {config.vocab, width});
  const Tensor streams = weights.f32(names.streams, {kHeadRows, width});
  tables_.assign(static_cast<size_t>(config.streams), table);
  for (int64_t s = 0; s < config.streams; ++s) {
    const std::span<const float> own(streams.f32() + s * width, static_cast<size_t>(width));
    const int64_t code = config.first_code + (s - 1) * config.codes;
    const HeadPart first = s == 0 ? head_part(head, 0, config.first_code, own)
                                  : head_part(head, config.ids.pad, config.ids.pad + 1, own);
    const HeadPart second =
        s == 0 ? head_part(head, config.first_word, config.first_word + config.words, own)
               : head_part(head, code, code + config.codes, own);
    const LinearPart parts[] = {first.part, second.part};
    heads_.push_back(PackedLinear::pack(parts, at_least_8_bits(type)));
    traits_.vocab.push_back(static_cast<int>(config.choices(s)));
  }
  traits_.hidden = config.lm.hidden;
  traits_.kv = {config.lm.kv_spec(type == WeightType::kF32 ? DType::kF32 : DType::kF16)};
  traits_.max_positions = static_cast<int>(config.max_positions);
}

size_t SpeechLm::bytes() const {
  size_t sum = decoder_.bytes();
  for (const PackedLinear& head : heads_) sum += head.bytes();
  return sum;
}

View SpeechLm::embed_rows(StepContext& ctx, const ArBatch& batch) const {
  const View x = ctx.arena.take({batch.rows, traits_.hidden}, DType::kF32);
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const size_t streams = tables_.size();
  const std::span<int32_t> ids = take_array<int32_t>(ctx, batch.rows * std::ssize(tables_));
  size_t row = 0;
  for (const ArSeq& seq : batch.seqs) {
    const State& state = static_cast<const State&>(*seq.state);
    for (int i = 0; i < seq.rows; ++i, ++row) {
      state.input(seq.first_pos + i, seq.companion, ids.subspan(row * streams, streams));
    }
  }
  embed_sum(ctx, tables_, ids, x);
  return x;
}

void SpeechLm::forward(StepContext& ctx, const ArBatch& batch, View hidden) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const View x = embed_rows(ctx, batch);
  decoder_.forward(ctx, x, batch.ragged, batch.kv[0]);
  if (batch.emits == 0) return;
  decoder_.norm_rows(ctx, x, emitting_rows(ctx, batch), hidden);
}

void SpeechLm::logits(StepContext& ctx, int k, const ArBatch&, View hidden, View, View out) const {
  linear(ctx, heads_[k], hidden, out);
}

}  // namespace syrinx::opuslm
