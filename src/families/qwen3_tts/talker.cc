#include "families/qwen3_tts/talker.h"

#include "families/run_decoder.h"
#include "kernels/embedding.h"
#include "model/input_rows.h"
#include "nn/cache_type.h"

namespace syrinx::qwen3_tts {
Talker::Talker(const ModelConfig& config, const Weights& weights, WeightType type)
    : config_(config),
      decoder_(config.talker, weights.scope("model"), type),
      predictor_({config.predictor, config.talker.hidden, config.codebooks, config.code_vocab},
                 weights.scope("code_predictor"), type) {
  const int64_t hidden = config.talker.hidden, text = config.text_hidden;
  const Weights model = weights.scope("model");
  const View text_table = model.take("text_embedding.weight", {config.text_vocab, text});
  codec_table_ = model.take("codec_embedding.weight", {config.talker_vocab, hidden});
  host_codec_table_ = codec_table_;
  head_ =
      load_linear(weights, "codec_head", config.talker_vocab, hidden, false, at_least_8_bits(type));
  tables_ = {codec_table_};
  tables_.insert(tables_.end(), predictor_.tables().begin(), predictor_.tables().end());

  traits_.hidden = static_cast<int>(hidden);
  traits_.vocab.assign(config.codebooks, static_cast<int>(config.code_vocab));
  traits_.vocab[0] = static_cast<int>(config.talker_vocab);
  traits_.kv = {config.talker.kv_spec(cache_type(type))};
  traits_.max_positions = static_cast<int>(config.max_positions);

  text_ = TextProjection(text_table,
                         ResizeMlp(weights.scope("text_projection"), text, text, hidden, type),
                         {config.text.tts_pad, config.text.tts_bos, config.text.tts_eos});
}

void Talker::move_to(Device device) {
  decoder_.move_to(device);
  predictor_.move_to(device, moved_);
  text_.move_to(device, moved_);
  syrinx::move_to(device, head_);
  codec_table_ = moved_.move(device, codec_table_);
  tables_ = {codec_table_};
  tables_.insert(tables_.end(), predictor_.tables().begin(), predictor_.tables().end());
}

size_t Talker::bytes() const { return decoder_.bytes() + head_.bytes() + text_.bytes(); }

size_t Talker::table_bytes() const {
  size_t sum = text_.table().bytes();
  for (const View& table : tables_) sum += table.bytes();
  return sum;
}

std::vector<float> Talker::codec_row(int32_t id) const {
  ThreadPool pool(1);
  Arena arena;
  StepContext ctx{pool, arena};
  std::vector<float> row(static_cast<size_t>(config_.talker.hidden));
  embed(ctx, host_codec_table_, std::span(&id, 1),
        View{row.data(), DType::kF32, {1, config_.talker.hidden}});
  return row;
}

View Talker::embed_rows(StepContext& ctx, const ArBatch& batch) const {
  const View x = ctx.arena.take({batch.rows, config_.talker.hidden}, DType::kF32);
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const int64_t c = config_.codebooks;
  std::span<int32_t> codes = take_array<int32_t>(ctx, batch.rows * c);
  std::span<int32_t> text = take_array<int32_t>(ctx, batch.rows);
  const BatchRows rows = fill_rows(ctx, batch, static_cast<int>(c) + 1);
  for (size_t row = 0; row < text.size(); ++row) {
    const std::span<const int32_t> ids = rows.ids.subspan(row * (c + 1), c + 1);
    std::copy_n(ids.begin(), c, codes.begin() + static_cast<std::ptrdiff_t>(row) * c);
    text[row] = ids.back();
  }
  embed_sum(ctx, tables_, codes, x);
  store_given(ctx, rows, x);
  text_.add(ctx, text, x);
  return x;
}

void Talker::forward(StepContext& ctx, const ArBatch& batch, View hidden) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  run_decoder(ctx, decoder_, batch, embed_rows(ctx, batch), hidden);
}

void Talker::logits(StepContext& ctx, int k, const ArBatch& batch, View hidden, View codes,
                    View out) const {
  if (k == 0) {
    linear(ctx, head_, hidden, out);
  } else {
    predictor_.logits(ctx, k, codec_table_, hidden, codes, batch.scratch, out);
  }
}

}  // namespace syrinx::qwen3_tts
