#include "families/pocket_tts/flow_lm.h"

#include <algorithm>

#include "families/given_kv.h"
#include "families/pocket_tts/state.h"
#include "io/digest.h"
#include "kernels/embedding.h"
#include "model/input_rows.h"
#include "nn/binary_head.h"
#include "nn/cache_type.h"
#include "nn/stream_pass.h"

namespace syrinx::pocket_tts {

/// The rows of a batch: voice rows with given keys and values, and the rows after them, which run.
struct FlowLm::Rows {
  GivenKv kv;
  View x;                       // [rows that run, H]
  std::span<int32_t> emitting;  // indices of the rows of x that yield a step
};

void VoiceRows::make_keys() {
  constexpr uint64_t kVector = uint64_t{1} << 63;  // distinguishes these keys from keys of ids
  const auto size = static_cast<int>(std::ssize(numbers) / width);
  keys.resize(static_cast<size_t>(size));
  for (int at = 0; at < size; ++at) {
    Digest digest;
    digest.values(row(at));
    keys[static_cast<size_t>(at)] = digest.key() | kVector;
  }
}

FlowLm::FlowLm(const ModelConfig& config, const Weights& weights, WeightType type)
    : config_(config),
      decoder_(config.lm, weights.scope("transformer"), type),
      norm_(weights.scope("out_norm"), config.lm.hidden, 1e-5f),
      head_(config, weights.scope("flow_net"), type) {
  const int64_t width = config.lm.hidden;
  const WeightType small = at_least_8_bits(type);
  const Weights text = weights.scope("conditioner");
  table_ = text.take("embed.weight", {config.vocab + 1, config.rank > 0 ? config.rank : width});
  if (config.rank > 0) project_ = load_linear(text, "proj", width, config.rank, false, small);
  in_ = load_linear(weights, "input_linear", width, config.latent, false, small);
  if (config.narrowed) {
    narrow_ = load_linear(weights, "z_proj", config.condition, width, false, small);
  }
  end_ = load_binary_head(weights, "out_eos", config.condition, config.end_threshold, small);
  first_ = weights.f32("bos_emb", {config.latent});
  if (config.voice_begins) voice_begin_ = weights.f32("bos_before_voice", {1, 1, width});
  traits_.hidden = static_cast<int>(config.condition);
  traits_.vocab = {2};
  traits_.kv = {config.lm.kv_spec(cache_type(type))};
  traits_.max_positions = static_cast<int>(ModelConfig::kMostPositions);
  traits_.values = static_cast<int>(config.latent);
}

FlowLm::Rows FlowLm::embed_rows(StepContext& ctx, const ArBatch& batch) const {
  const int64_t width = config_.lm.hidden;
  const BatchRows all = fill_rows(ctx, batch, 1);
  Rows out;
  out.kv = split_given_kv(ctx, batch, all.given, config_.cache_row(), [&](GivenRow vector) {
    return std::ssize(vector) == config_.cache_row();
  });
  const int64_t count = out.kv.run.rows();
  out.x = take_rows(ctx, count, width);
  out.emitting = take_array<int32_t>(ctx, batch.emits);
  const Arena::Mark mark(ctx.arena);
  const std::span<float> latents = take_array<float>(ctx, count * config_.latent);
  const std::span<int32_t> ids = take_array<int32_t>(ctx, count);
  size_t emitting = 0;
  for (size_t b = 0; b < batch.seqs.size(); ++b) {
    const int32_t end = batch.ragged.row_begin[b + 1];
    for (int32_t row = out.kv.running[b]; row < end; ++row) {
      const GivenRow vector = all.given[size_t(row)];
      const int32_t at = out.kv.index(b, row);
      ids[size_t(at)] = all.ids[size_t(row)];
      if (std::ssize(vector) == config_.latent)
        std::ranges::copy(vector, latents.data() + at * config_.latent);
    }
    for (int i = batch.seqs[b].emits; i > 0; --i)
      out.emitting[emitting++] = out.kv.index(b, end - i);
  }
  if (project_.empty()) {
    embed_sum(ctx, std::span(&table_, 1), ids, out.x);
  } else {
    const View narrow = take_rows(ctx, count, config_.rank);
    embed_sum(ctx, std::span(&table_, 1), ids, narrow);
    linear(ctx, project_, narrow, out.x);
  }
  linear_add(ctx, in_, upload(ctx, {latents.data(), DType::kF32, {count, config_.latent}}), out.x);
  for (size_t b = 0; b < batch.seqs.size(); ++b) {
    for (int32_t row = out.kv.running[b]; row < batch.ragged.row_begin[b + 1]; ++row) {
      const GivenRow vector = all.given[size_t(row)];
      const int64_t at = out.kv.index(b, row);
      if (std::ssize(vector) == width) store(ctx, vector, out.x.slice(at, at + 1));
    }
  }
  return out;
}

void FlowLm::forward(StepContext& ctx, const ArBatch& batch, View hidden) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const Rows rows = embed_rows(ctx, batch);
  rows.kv.write(ctx, batch.kv[0], config_.lm.layers, config_.lm.kv_heads, config_.lm.head_dim);
  decoder_.forward(ctx, rows.x, rows.kv.run, batch.kv[0]);
  if (batch.emits == 0) return;
  const View last = take_rows(ctx, batch.emits, config_.lm.hidden);
  gather_rows(ctx, rows.x, rows.emitting, last);
  norm_(ctx, last, narrow_.empty() ? hidden : last);
  if (!narrow_.empty()) linear(ctx, narrow_, last, hidden);
}

void FlowLm::logits(StepContext& ctx, int, const ArBatch&, View hidden, View, View out) const {
  linear(ctx, end_, hidden, out);
}

void FlowLm::values(StepContext& ctx, const ArBatch& batch, View hidden, View, View out) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const std::span<float> noise = draw_noise(ctx, emitting<State>(ctx, batch), config_.latent);
  const View host{noise.data(), DType::kF32, {batch.emits, config_.latent}};
  head_.run(ctx, hidden, upload(ctx, host), out);
}

}  // namespace syrinx::pocket_tts
