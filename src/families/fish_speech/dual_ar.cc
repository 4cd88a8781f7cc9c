#include "families/fish_speech/dual_ar.h"

#include <cmath>
#include <cstring>

#include "nn/cache_type.h"

namespace syrinx::fish_speech {
namespace {

std::vector<View> input_tables(const ModelConfig& config, const Weights& weights) {
  const int64_t width = config.slow.hidden, v = config.codes;
  std::vector<View> tables{
      weights.take("text_model.model.embeddings.weight", {config.vocab, width})};
  const View all =
      weights.take("audio_decoder.codebook_embeddings.weight", {config.codebooks * v, width});
  for (int64_t c = 0; c < config.codebooks; ++c) tables.push_back(all.slice(c * v, (c + 1) * v));
  return tables;
}

PackedLinear tied_head(const ModelConfig& config, const View& table, WeightType type) {
  const LinearPart parts[] = {
      {table.slice(config.semantic_begin, config.semantic_begin + config.codes)},
      {table.slice(config.end_token, config.end_token + 1)}};
  return PackedLinear::pack(parts, type);
}

/// Loads the fast network. As in the authors' code, the end has the same input as code 0. The table
/// has one more row.
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
  std::vector<View> tables = input_tables(config, weights);
  StreamHead head = whole_head(tied_head(config, tables.front(), at_least_8_bits(type)));
  // A frame's row is the sum of its C + 1 entries, divided by the square root of their number.
  const float scale = 1.f / std::sqrt(static_cast<float>(tables.size()));
  CodecLmParts parts{Decoder(config.slow, weights.scope("text_model").scope("model"), type),
                     std::move(tables),
                     {},
                     config.slow.kv_spec(cache_type(type)),
                     config.max_positions};
  parts.heads.push_back(std::move(head));
  parts.inner = fast_network(config, weights.scope("audio_decoder"), type);
  parts.inner_vocab.assign(static_cast<size_t>(config.codebooks - 1),
                           static_cast<int>(config.codes));
  parts.frame_scale = scale;
  return std::make_unique<CodecLm>(std::move(parts));
}

}  // namespace syrinx::fish_speech
