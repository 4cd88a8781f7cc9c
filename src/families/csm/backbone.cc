#include "families/csm/backbone.h"

#include "families/csm/state.h"
#include "families/run_decoder.h"
#include "kernels/embedding.h"
#include "nn/cache_type.h"
#include "nn/stream_pass.h"

namespace syrinx::csm {
namespace {

constexpr const char* kTable = "backbone_model.embed_tokens.embed_audio_tokens.weight";
constexpr const char* kDepthTable = "depth_decoder.model.embed_tokens.weight";

/// The C tables of one tensor [C * V, H].
std::vector<View> code_tables(const ModelConfig& config, const Weights& weights,
                              const std::string& name) {
  const int64_t v = config.code_vocab;
  const View all = weights.take(name, {config.codebooks * v, config.backbone.hidden});
  std::vector<View> tables;
  for (int64_t c = 0; c < config.codebooks; ++c) tables.push_back(all.slice(c * v, (c + 1) * v));
  return tables;
}

/// Of the codes, which a tied checkpoint may hold under either name, and of the text.
std::vector<View> input_tables(const ModelConfig& config, const Weights& weights) {
  const bool other = config.tied && !weights.has(kTable) && weights.has(kDepthTable);
  std::vector<View> tables = code_tables(config, weights, other ? kDepthTable : kTable);
  tables.push_back(
      weights.take("embed_text_tokens.weight", {config.text_vocab, config.backbone.hidden}));
  return tables;
}

std::vector<View> depth_tables(const ModelConfig& config, const Weights& weights,
                               const std::vector<View>& inputs) {
  if (!config.tied) return code_tables(config, weights, kDepthTable);
  weights.ignore(kDepthTable);
  return {inputs.begin(), inputs.end() - 1};
}

}  // namespace

DepthDecoder::DepthDecoder(const ModelConfig& config, const Weights& weights,
                           std::vector<View> tables, WeightType type)
    : decoder_(config.depth, weights.scope("model"), type, config.codebooks),
      tables_(std::move(tables)) {
  const int64_t depth = config.depth.hidden, v = config.code_vocab;
  projection_ = load_linear(weights.scope("model"), "inputs_embeds_projector", depth,
                            config.backbone.hidden, false, at_least_8_bits(type));
  const View heads = weights.take("codebooks_head.weight", {config.codebooks - 1, depth, v});
  for (int64_t i = 0; i + 1 < config.codebooks; ++i) {
    const Tensor head = transposed(heads.slice(i, i + 1).reshape({depth, v}));
    heads_.push_back(PackedLinear::pack(head, at_least_8_bits(type)));
  }
}

void DepthDecoder::move_to(Device device, MovedTables& moved) {
  decoder_.move_to(device);
  syrinx::move_to(device, projection_);
  for (PackedLinear& head : heads_) syrinx::move_to(device, head);
  for (View& table : tables_) table = moved.move(device, table);
}

size_t DepthDecoder::bytes() const {
  size_t sum = decoder_.bytes() + projection_.bytes();
  for (const PackedLinear& head : heads_) sum += head.bytes();
  return sum;
}

/// A step begins with two rows a sequence, the backbone's hidden row and code 0; later one row, the
/// code before.
View DepthDecoder::inputs(StepContext& ctx, int k, const View& hidden, const View& codes) const {
  const int64_t emits = hidden.shape[0], wide = hidden.shape[1];
  const int64_t rows = k == 1 ? 2 : 1;
  const View narrow = take_rows(ctx, rows * emits, decoder_.config().hidden);
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  View x = take_rows(ctx, emits, wide);
  embed_column(ctx, tables_[k - 1], codes, k - 1, x);
  if (k == 1) x = side_by_side(ctx, hidden, x);
  linear(ctx, projection_, x, narrow);
  return narrow;
}

void DepthDecoder::logits(StepContext& ctx, int k, const View& hidden, const View& codes,
                          const View& scratch, const View& out) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const View top = decoder_.run(ctx, k, inputs(ctx, k, hidden, codes), scratch);
  linear(ctx, heads_[k - 1], top, out);
}

Backbone::Backbone(const ModelConfig& config, const Weights& weights, WeightType type)
    : config_(config),
      tables_(input_tables(config, weights)),
      decoder_(config.backbone, weights.scope("backbone_model"), type),
      head_(load_linear(weights, "lm_head", config.code_vocab, config.backbone.hidden, false,
                        at_least_8_bits(type))),
      depth_(config, weights.scope("depth_decoder"), depth_tables(config, weights, tables_), type) {
  traits_.hidden = config.backbone.hidden;
  traits_.vocab.assign(config.codebooks, static_cast<int>(config.code_vocab));
  traits_.kv = {config.backbone.kv_spec(cache_type(type))};
  traits_.max_positions = static_cast<int>(config.max_positions);
}

void Backbone::move_to(Device device) {
  decoder_.move_to(device);
  syrinx::move_to(device, head_);
  for (View& table : tables_) table = moved_.move(device, table);
  depth_.move_to(device, moved_);
}

size_t Backbone::table_bytes() const {
  size_t sum = 0;
  for (const View& table : tables_) sum += table.bytes();
  return sum;
}

View Backbone::embed_rows(StepContext& ctx, const ArBatch& batch) const {
  const View x = take_rows(ctx, batch.rows, config_.backbone.hidden);
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const size_t slots = tables_.size();
  std::span<int32_t> ids = take_array<int32_t>(ctx, batch.rows * std::ssize(tables_));
  size_t row = 0;
  for (const ArSeq& seq : batch.seqs) {
    const State& state = static_cast<const State&>(*seq.state);
    for (int i = 0; i < seq.rows; ++i, ++row) {
      state.input(seq.first_pos + i, ids.subspan(row * slots, slots));
    }
  }
  embed_sum(ctx, tables_, ids, x);
  return x;
}

void Backbone::forward(StepContext& ctx, const ArBatch& batch, View hidden) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  run_decoder(ctx, decoder_, batch, embed_rows(ctx, batch), hidden);
}

void Backbone::logits(StepContext& ctx, int k, const ArBatch& batch, View hidden, View codes,
                      View out) const {
  if (k == 0) {
    linear(ctx, head_, hidden, out);
  } else {
    depth_.logits(ctx, k, hidden, codes, batch.scratch, out);
  }
}

}  // namespace syrinx::csm
