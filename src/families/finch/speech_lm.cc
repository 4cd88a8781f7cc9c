#include "families/finch/speech_lm.h"

#include <algorithm>
#include <limits>

#include "families/finch/phone_stream.h"
#include "families/finch/state.h"
#include "families/run_decoder.h"
#include "kernels/embedding.h"

namespace syrinx::finch {
namespace {

DecoderConfig decoder_config(const FinchConfig& config) {
  DecoderConfig decoder;
  decoder.layers = config.layers;
  decoder.hidden = config.hidden;
  decoder.heads = decoder.kv_heads = config.heads;
  decoder.head_dim = config.head_dim;
  decoder.ffn = config.ffn;
  decoder.norm_eps = 1e-6f;
  decoder.rope.theta = config.rope_theta;
  decoder.rope_positions = config.max_positions;
  return decoder;
}

}  // namespace

SpeechLm::SpeechLm(const FinchConfig& config, const Weights& weights, WeightType type) {
  const auto table = [&](const std::string& name, int64_t rows) {
    tables_.push_back(weights.f32(name + ".weight", {rows, config.hidden}));
  };
  const auto phones = static_cast<int64_t>(phone_names().size());
  for (int k = 0; k < kBooks; ++k) table("code." + std::to_string(k), config.codes + 1);
  for (int i = 0; i < kHeard; ++i) table("phone." + std::to_string(i), phones);
  table("phrase", kPhraseClasses + (config.by_word ? 1 : 0));
  table("place", kPlaceClasses);
  table("age", config.ages);
  for (const Tensor& one : tables_) table_views_.push_back(one);

  const DecoderConfig decoder = decoder_config(config);
  decoder_ = Decoder(decoder, weights, type);
  const View head =
      weights.take("head.weight", {int64_t{kBooks} * config.codes + kMoves, config.hidden});
  for (int k = 0; k < kBooks; ++k) {
    heads_.push_back(
        PackedLinear::pack(head.slice(int64_t{k} * config.codes, int64_t{k + 1} * config.codes),
                           at_least_8_bits(type)));
  }
  // The pointer decides the words: its four rows keep full precision.
  heads_.push_back(PackedLinear::pack(head.slice(int64_t{kBooks} * config.codes, head.shape[0]),
                                      WeightType::kF32));

  traits_.hidden = config.hidden;
  traits_.vocab.assign(kBooks, config.codes);
  traits_.vocab.push_back(kMoves);
  traits_.kv = {decoder.kv_spec(DType::kF32)};
  traits_.max_positions = config.max_positions;
  traits_.values = 1;  // how sure it is that the pointer should have stayed
}

void SpeechLm::forward(StepContext& ctx, const ArBatch& batch, View hidden) const {
  const View ids = ctx.arena.take({batch.rows, kInputs}, DType::kI32);
  const View x = ctx.arena.take({batch.rows, traits_.hidden}, DType::kF32);
  int row = 0;
  for (const ArSeq& seq : batch.seqs) {
    const auto& state = static_cast<const FinchState&>(*seq.state);
    for (int i = 0; i < seq.rows; ++i, ++row) {
      state.row_inputs(seq.first_pos + i, {ids.i32() + int64_t{row} * kInputs, kInputs});
    }
  }
  embed_sum(ctx, table_views_, {ids.i32(), static_cast<size_t>(batch.rows) * kInputs}, x);
  float* heard = x.f32();
  for (const ArSeq& seq : batch.seqs) {
    const auto& state = static_cast<const FinchState&>(*seq.state);
    const Manner& manner = *state.manner();
    for (int i = 0; i < seq.rows; ++i) {
      const auto& said_by = state.is_strong(seq.first_pos + i) ? manner.strong : manner.lm;
      for (const float value : said_by) *heard++ += value;
    }
  }
  run_decoder(ctx, decoder_, batch, x, hidden);
}

void SpeechLm::logits(StepContext& ctx, int k, const ArBatch& batch, View hidden, View /*codes*/,
                      View out) const {
  if (k == kMoveHead) {
    choose_moves(ctx, batch, hidden, out);
  } else {
    linear(ctx, heads_[k], hidden, out);
  }
}

void SpeechLm::choose_moves(StepContext& ctx, const ArBatch& batch, View hidden, View out) const {
  linear(ctx, heads_[kMoveHead], hidden, out);
  float* row = out.f32();
  auto* survival = static_cast<float*>(batch.scratch.data);
  for (const ArSeq& seq : batch.seqs) {
    if (!seq.emits) continue;
    const auto& state = static_cast<const FinchState&>(*seq.state);
    const FinchState::Move chosen = state.choose_move({row, kMoves});
    for (int m = 0; m < kMoves; ++m) {
      row[m] = m == chosen.move ? 0.f : -std::numeric_limits<float>::infinity();
    }
    row += kMoves;
    *survival++ = chosen.survival;
  }
}

void SpeechLm::values(StepContext&, const ArBatch& batch, View, View, View out) const {
  std::copy_n(static_cast<const float*>(batch.scratch.data), batch.emits, out.f32());
}

size_t SpeechLm::bytes() const {
  size_t sum = decoder_.bytes();
  for (const Tensor& table : tables_) sum += table.bytes();
  for (const PackedLinear& head : heads_) sum += head.bytes();
  return sum;
}

}  // namespace syrinx::finch
