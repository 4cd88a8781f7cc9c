#include "families/csm/backbone.h"

namespace syrinx::csm {
namespace {

constexpr const char* kTable = "backbone_model.embed_tokens.embed_audio_tokens.weight";
constexpr const char* kDepthTable = "depth_decoder.model.embed_tokens.weight";

/// Splits one tensor [C * V, H] into its C tables.
std::vector<View> code_tables(const ModelConfig& config, const Weights& weights,
                              const std::string& name) {
  const int64_t rows = config.codebooks * config.code_vocab;
  return tables_in(weights.take(name, {rows, config.backbone.hidden}), config.codebooks);
}

/// Returns the tables of text and codes. A tied checkpoint may store the codes' tables under either
/// of two names.
std::vector<View> input_tables(const ModelConfig& config, const Weights& weights) {
  const bool other = config.tied && !weights.has(kTable) && weights.has(kDepthTable);
  std::vector<View> tables = code_tables(config, weights, other ? kDepthTable : kTable);
  tables.insert(tables.begin(), weights.take("embed_text_tokens.weight",
                                             {config.text_vocab, config.backbone.hidden}));
  return tables;
}

std::vector<View> depth_tables(const ModelConfig& config, const Weights& weights,
                               const std::vector<View>& inputs) {
  if (!config.tied) return code_tables(config, weights, kDepthTable);
  weights.ignore(kDepthTable);
  return {inputs.begin() + 1, inputs.end()};
}

std::unique_ptr<InnerCodes> depth_decoder(const ModelConfig& config, const Weights& weights,
                                          std::vector<View> tables, WeightType type) {
  const int64_t depth = config.depth.hidden, v = config.code_vocab;
  const Weights model = weights.scope("model");
  InnerCodesParts parts{InnerDecoder(config.depth, model, type, config.codebooks),
                        std::move(tables),
                        {},
                        load_linear(model, "inputs_embeds_projector", depth, config.backbone.hidden,
                                    false, at_least_8_bits(type))};
  const View heads = weights.take("codebooks_head.weight", {config.codebooks - 1, depth, v});
  for (int64_t i = 0; i + 1 < config.codebooks; ++i) {
    const Tensor head = transposed(heads.slice(i, i + 1).reshape({depth, v}));
    parts.heads.push_back(PackedLinear::pack(head, at_least_8_bits(type)));
  }
  return std::make_unique<InnerCodes>(std::move(parts));
}

}  // namespace

std::unique_ptr<CodecLm> load_backbone(const ModelConfig& config, const Weights& weights,
                                       WeightType type) {
  CodecLmParts parts =
      lm_parts(config.backbone, weights.scope("backbone_model"), type, config.max_positions);
  parts.tables = input_tables(config, weights);
  parts.heads.push_back(
      load_head(weights, "lm_head", config.code_vocab, config.backbone.hidden, type));
  parts.inner = depth_decoder(config, weights.scope("depth_decoder"),
                              depth_tables(config, weights, parts.tables), type);
  return std::make_unique<CodecLm>(std::move(parts));
}

}  // namespace syrinx::csm
