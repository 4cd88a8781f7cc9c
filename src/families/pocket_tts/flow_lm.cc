#include "families/pocket_tts/flow_lm.h"

#include <algorithm>

#include "families/pocket_tts/state.h"
#include "io/digest.h"
#include "kernels/embedding.h"
#include "kernels/sample.h"
#include "model/input_rows.h"
#include "nn/binary_head.h"
#include "nn/cache_type.h"
#include "nn/stream_pass.h"

namespace syrinx::pocket_tts {
namespace {

constexpr uint32_t kNoiseStream = 0;

}  // namespace

/// The rows of a batch: voice rows with given keys and values, and the rows after them, which run.
struct FlowLm::Rows {
  View x;       // [rows that run, H]
  View cached;  // [rows with given keys and values, ModelConfig::cache_row()]
  Ragged run, given;
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

void FlowLm::move_to(Device device) {
  table_ = moved_.move(device, table_);
  for (PackedLinear* layer : {&project_, &in_, &narrow_, &end_}) syrinx::move_to(device, *layer);
  decoder_.move_to(device);
  norm_.move_to(device);
  head_.move_to(device);
  device_ = device;
}

FlowLm::Rows FlowLm::embed_rows(StepContext& ctx, const ArBatch& batch) const {
  const int64_t width = config_.lm.hidden, count = std::ssize(batch.seqs);
  const BatchRows all = fill_rows(ctx, batch, 1);
  const auto is_cached = [&](int64_t row) {
    return std::ssize(all.given[size_t(row)]) == config_.cache_row();
  };
  // Rows with given keys and values are the first rows of their sequences.
  const std::span<int32_t> run = take_array<int32_t>(ctx, count + 1);
  const std::span<int32_t> given = take_array<int32_t>(ctx, count + 1);
  const std::span<int32_t> given_len = take_array<int32_t>(ctx, count);
  const std::span<int32_t> ids = take_array<int32_t>(ctx, batch.rows);
  Rows out;
  out.emitting = take_array<int32_t>(ctx, batch.emits);
  run[0] = given[0] = 0;
  int64_t emitting = 0;
  for (int64_t b = 0; b < count; ++b) {
    const int32_t begin = batch.ragged.row_begin[size_t(b)];
    const int32_t end = batch.ragged.row_begin[size_t(b) + 1];
    int32_t at = begin;
    while (at < end && is_cached(at)) ++at;
    given[size_t(b) + 1] = given[size_t(b)] + at - begin;
    run[size_t(b) + 1] = run[size_t(b)] + end - at;
    given_len[size_t(b)] = batch.ragged.kv_len[size_t(b)] - (end - at);
    for (int i = batch.seqs[size_t(b)].emits; i > 0; --i)
      out.emitting[size_t(emitting++)] = run[size_t(b) + 1] - i;
  }
  const Ragged& r = batch.ragged;
  out.run = resident(ctx, {run, r.kv_len, r.page_table, r.max_pages});
  out.given = resident(ctx, {given, given_len, r.page_table, r.max_pages});

  out.x = take_rows(ctx, out.run.rows(), width);
  out.cached = take_rows(ctx, out.given.rows(), config_.cache_row());
  const Arena::Mark mark(ctx.arena);
  const std::span<float> latents = take_array<float>(ctx, out.run.rows() * config_.latent);
  int64_t cached = 0, kept = 0;
  for (int64_t row = 0; row < batch.rows; ++row) {
    const GivenRow vector = all.given[size_t(row)];
    if (is_cached(row)) {
      store(ctx, vector, out.cached.slice(cached, cached + 1));
      ++cached;
      continue;
    }
    if (std::ssize(vector) == config_.latent) {
      std::ranges::copy(vector, latents.data() + kept * config_.latent);
    }
    ids[size_t(kept++)] = all.ids[size_t(row)];
  }
  const auto kept_ids = ids.first(size_t(kept));
  if (project_.empty()) {
    embed_sum(ctx, std::span(&table_, 1), kept_ids, out.x);
  } else {
    const View narrow = take_rows(ctx, kept, config_.rank);
    embed_sum(ctx, std::span(&table_, 1), kept_ids, narrow);
    linear(ctx, project_, narrow, out.x);
  }
  linear_add(ctx, in_, upload(ctx, {latents.data(), DType::kF32, {kept, config_.latent}}), out.x);
  kept = 0;
  for (int64_t row = 0; row < batch.rows; ++row) {
    const GivenRow vector = all.given[size_t(row)];
    if (std::ssize(vector) == width) store(ctx, vector, out.x.slice(kept, kept + 1));
    kept += !is_cached(row);
  }
  return out;
}

void FlowLm::forward(StepContext& ctx, const ArBatch& batch, View hidden) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const Rows rows = embed_rows(ctx, batch);
  const int heads = config_.lm.kv_heads, size = config_.lm.head_dim;
  for (int layer = 0; layer < config_.lm.layers && rows.given.rows() > 0; ++layer) {
    const int64_t keys = 2 * layer * config_.kv_width();
    write_kv(ctx, {rows.cached, keys, heads, size},
             {rows.cached, keys + config_.kv_width(), heads, size}, batch.kv[0], layer, rows.given);
  }
  decoder_.forward(ctx, rows.x, rows.run, batch.kv[0]);
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
  const std::span<float> noise = take_array<float>(ctx, batch.emits * config_.latent);
  int64_t e = 0;
  for (const ArSeq& seq : batch.seqs) {
    if (seq.emits == 0) continue;
    const State& state = static_cast<const State&>(*seq.state);
    const std::span<float> own =
        noise.subspan(size_t(e++ * config_.latent), size_t(config_.latent));
    philox_normal(state.seed(), static_cast<uint32_t>(state.steps()), kNoiseStream, own);
    for (float& x : own) x *= state.noise_scale();
  }
  const View host{noise.data(), DType::kF32, {batch.emits, config_.latent}};
  head_.run(ctx, hidden, upload(ctx, host), out);
}

}  // namespace syrinx::pocket_tts
