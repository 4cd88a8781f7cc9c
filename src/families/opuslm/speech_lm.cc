#include "families/opuslm/speech_lm.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "families/loading/checkpoint.h"

namespace syrinx::opuslm {
namespace {

constexpr int64_t kHeadRows = 12;  // rows of head_emb, whatever the number of streams

/// Names of the parts, either in ESPnet's own files or in those of its converter.
struct Names {
  const char *table, *head, *streams, *decoder;
};
constexpr Names kEspnet{"corelm.emb.weight", "corelm.lm_head.weight", "corelm.head_emb.weight",
                        "corelm.decoders.model"};
constexpr Names kConverted{"model.embed_tokens.weight", "lm_head.weight", "head_emb.weight",
                           "model"};

/// Returns whether a layer has norms of queries or keys.
bool has_head_norms(const Weights& decoder) {
  for (int64_t i = 0; i < std::max<int64_t>(decoder.count("layers"), 1); ++i) {
    const Weights attention = decoder.scope("layers", i).scope("self_attn");
    if (attention.has("q_norm.weight") || attention.has("k_norm.weight")) return true;
  }
  return false;
}

/// Sets the norms. OLMo 2 has norms after attention and MLP, and over all heads. Llama has neither.
DecoderConfig with_norms(DecoderConfig c, const Weights& decoder) {
  if (!has_head_norms(decoder)) return c;
  c.norm_order = NormOrder::kAfter;
  c.qk_norm = c.qk_norm_wide = true;
  c.names.attention_norm = "post_attention_layernorm";
  c.names.mlp_norm = "post_feedforward_layernorm";
  return c;
}

}  // namespace

std::unique_ptr<CodecLm> load_lm(const ModelConfig& config, const Weights& weights,
                                 const LoadSpec& spec) {
  const bool espnet =
      weights.count("corelm.decoders.model.layers") > 0 || weights.has(kEspnet.table);
  const Names& names = espnet ? kEspnet : kConverted;
  const Weights blocks = weights.scope(names.decoder);
  const DecoderConfig sizes = with_norms(config.lm, blocks);
  CodecLmParts parts = lm_parts(sizes, blocks, spec.weights, config.max_positions);
  weights.ignore("criterion.*");  // only training uses these weights
  const int64_t width = config.lm.hidden;
  parts.tables.assign(static_cast<size_t>(config.streams),
                      weights.take(names.table, {config.vocab, width}));
  const View head = weights.take(names.head, {config.vocab, width});
  const Tensor streams = weights.f32(names.streams, {kHeadRows, width});
  // Stream 0 has either words or speech.
  const RowRange control{0, config.first_unit}, units{config.first_unit, config.first_code},
      words{config.first_word, config.first_word + config.words};
  for (int64_t s = 0; s < config.streams; ++s) {
    const std::span<const float> own(streams.f32() + s * width, static_cast<size_t>(width));
    const int64_t code = config.first_code + (s - 1) * config.codes;
    const RowRange pad{config.ids.pad, config.ids.pad + 1}, codes{code, code + config.codes};
    const std::vector<HeadPart> choices = s == 0
                                              ? std::vector<HeadPart>{{control}, {units}, {words}}
                                              : std::vector<HeadPart>{{pad, codes}};
    parts.heads.push_back(
        pack_stream_head(head, choices, own, at_least_8_bits(spec.weights), spec.device_of("ar")));
  }
  return std::make_unique<CodecLm>(std::move(parts));
}

}  // namespace syrinx::opuslm
