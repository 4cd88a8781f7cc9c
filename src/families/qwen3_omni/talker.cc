#include "families/qwen3_omni/talker.h"

#include "kernels/embedding.h"
#include "nn/cache_type.h"

namespace syrinx::qwen3_omni {

std::vector<TalkerRow> talker_prompt(const ModelConfig& config, std::span<const int32_t> ids,
                                     int32_t speaker, int32_t first) {
  constexpr size_t kHead = 3;  // <|im_start|> assistant \n
  const TextIds& text = config.text;
  const CodecIds& codec = config.talker.codec;
  SYRINX_CHECK(ids.size() >= kHead && ids[ids.size() - kHead] == text.im_start &&
                   ids[ids.size() - kHead + 1] == text.assistant,
               "[talker] the prompt does not end in the head of an answer");
  std::vector<TalkerRow> rows;
  int32_t role = ids[1];  // of a turn, the id behind its <|im_start|>
  for (size_t i = 0; i + kHead < ids.size(); ++i) {
    if (ids[i] == text.im_start) role = ids[i + 1];
    if (role != text.user) continue;
    TalkerRow row;
    (ids[i] == text.audio ? row.heard : row.text) =
        ids[i] == text.audio ? static_cast<int32_t>(i) : ids[i];
    rows.push_back(row);
  }
  for (const int32_t id : ids.last(kHead)) rows.push_back({.text = id});
  for (const int32_t id : {codec.nothink, codec.think_bos, codec.think_eos, speaker})
    rows.push_back({.text = text.tts_pad, .codec = id});
  rows.push_back({.text = text.tts_bos, .codec = codec.pad});
  rows.push_back({.text = first, .codec = codec.bos});
  return rows;
}

std::optional<int32_t> talker_text(const TextIds& text, std::span<const int32_t> written,
                                   bool ended, int64_t frame) {
  const int64_t next = frame + 1, count = std::ssize(written);
  if (next < count) return written[static_cast<size_t>(next)];
  if (!ended) return std::nullopt;
  return next == count ? text.tts_eos : text.tts_pad;
}

Talker::Talker(const ModelConfig& config, const Weights& weights, const View& text_table,
               WeightType type)
    : kv_type_(cache_type(type)),
      decoder_(config.talker.decoder, weights.scope("model"), type),
      predictor_(config.talker.predictor, weights.scope("code_predictor"), type) {
  const TalkerConfig& c = config.talker;
  const int64_t hidden = c.decoder.hidden;
  tables_ = {weights.scope("model").take("codec_embedding.weight", {c.vocab, hidden})};
  tables_.insert(tables_.end(), predictor_.tables().begin(), predictor_.tables().end());
  const auto projection = [&](const char* name) {
    return qwen3_tts::ResizeMlp(weights.scope(name), c.thinker_hidden, c.inner, hidden, type);
  };
  text_ =
      qwen3_tts::TextProjection(text_table, projection("text_projection"),
                                {config.text.tts_pad, config.text.tts_bos, config.text.tts_eos});
  hearing_ = projection("hidden_projection");
  head_ = load_linear(weights, "codec_head", c.vocab, hidden, false, at_least_8_bits(type));
}

KvSpec Talker::kv_spec() const { return decoder_.config().kv_spec(kv_type_); }

size_t Talker::bytes() const {
  return decoder_.bytes() + predictor_.bytes() + text_.bytes() + hearing_.bytes() + head_.bytes();
}

void Talker::embed(StepContext& ctx, std::span<const int32_t> text, std::span<const int32_t> codes,
                   const View& heard, const View& x) const {
  const Arena::Mark mark(ctx.arena);
  embed_sum(ctx, tables_, codes, x);
  if (heard.empty()) return text_.add(ctx, text, x);
  const View projected = ctx.arena.take({heard.shape[0], x.shape[1]}, DType::kF32);
  hearing_(ctx, heard, projected);
  text_.add(ctx, text, x, projected);
}

void Talker::logits(StepContext& ctx, int k, const View& hidden, const View& codes,
                    const View& scratch, const View& out) const {
  if (k == 0) {
    linear(ctx, head_, hidden, out);
  } else {
    predictor_.logits(ctx, k, tables_[0], hidden, codes, scratch, out);
  }
}

}  // namespace syrinx::qwen3_omni
