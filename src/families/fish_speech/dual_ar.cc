#include "families/fish_speech/dual_ar.h"

#include <cmath>
#include <cstring>

namespace syrinx::fish_speech {
namespace {

std::vector<View> input_tables(const ModelConfig& config, const Weights& weights) {
  const int64_t width = config.slow.hidden, rows = config.codebooks * config.codes;
  std::vector<View> tables = tables_in(
      weights.take("audio_decoder.codebook_embeddings.weight", {rows, width}), config.codebooks);
  tables.insert(tables.begin(),
                weights.take("text_model.model.embeddings.weight", {config.vocab, width}));
  return tables;
}

StreamHead head_of(const ModelConfig& config, const View& table, WeightType type) {
  const LinearPart parts[] = {
      {table.slice(config.semantic_begin, config.semantic_begin + config.codes)},
      {table.slice(config.end_token, config.end_token + 1)}};
  return whole_head(PackedLinear::pack(parts, at_least_8_bits(type)));
}

/// Loads the fast network. Its table gets one more row, for the end. As in the authors' code, that
/// row equals the row of code 0.
std::unique_ptr<InnerCodes> fast_network(const ModelConfig& config, const Weights& weights,
                                         WeightType type) {
  const int64_t v = config.codes, width = config.fast.hidden;
  const View stored = weights.take("embeddings.weight", {v, width});
  Tensor table({v + 1, width}, stored.dtype);
  std::memcpy(table.view().data, stored.data, stored.bytes());
  const View end = table.view().slice(v, v + 1);
  std::memcpy(end.data, stored.data, end.bytes());
  InnerCodesParts parts{
      InnerDecoder(config.fast, weights, type, config.codebooks), {table.view()}, {}};
  parts.heads.push_back(load_linear(weights, "output", v, width, false, at_least_8_bits(type)));
  parts.own_table = std::move(table);
  return std::make_unique<InnerCodes>(std::move(parts));
}

}  // namespace

std::unique_ptr<CodecLm> load_dual_ar(const ModelConfig& config, const Weights& weights,
                                      WeightType type) {
  CodecLmParts parts =
      lm_parts(config.slow, weights.scope("text_model").scope("model"), type, config.max_positions);
  parts.tables = input_tables(config, weights);
  parts.heads.push_back(head_of(config, parts.tables.front(), type));
  parts.inner = fast_network(config, weights.scope("audio_decoder"), type);
  parts.inner_vocab.assign(static_cast<size_t>(config.codebooks - 1),
                           static_cast<int>(config.codes));
  // A frame's row is the sum of its C + 1 entries, divided by the square root of their number.
  parts.frame_scale = 1.f / std::sqrt(static_cast<float>(parts.tables.size()));
  return std::make_unique<CodecLm>(std::move(parts));
}

}  // namespace syrinx::fish_speech
