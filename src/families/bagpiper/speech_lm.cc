#include "families/bagpiper/speech_lm.h"

#include <algorithm>
#include <vector>

namespace syrinx::bagpiper {

std::unique_ptr<CodecLm> load_lm(const ModelConfig& config, const Weights& weights,
                                 const LoadSpec& spec) {
  const Weights model = weights.scope("model");
  CodecLmParts parts = lm_parts(config.lm, model, spec.weights, config.max_positions);
  const int64_t width = config.lm.hidden;
  parts.tables.assign(static_cast<size_t>(config.streams),
                      model.take("embed_tokens.weight", {config.vocab(), width}));
  const View shared = weights.take("lm_head.weight", {config.vocab(), width});
  const Tensor streams = weights.f32("stream_emb.weight", {config.streams, width});
  std::fill_n(streams.f32(), width, 0.f);  // replaces the stored row, which is unused
  // Stream 0 has either words or speech.
  const RowRange control{0, ModelConfig::kFirstWord},
      words{ModelConfig::kFirstWord, config.first_code(0)};
  for (int64_t s = 0; s < config.streams; ++s) {
    const std::span<const float> own(streams.f32() + s * width, static_cast<size_t>(width));
    const RowRange pad{kPad, kPad + 1}, codes{config.first_code(s), config.first_code(s + 1)};
    const std::vector<HeadPart> choices = s == 0
                                              ? std::vector<HeadPart>{{control}, {words}, {codes}}
                                              : std::vector<HeadPart>{{pad, codes}};
    parts.heads.push_back(pack_stream_head(shared, choices, own, at_least_8_bits(spec.weights),
                                           spec.device_of("lm")));
  }
  return std::make_unique<CodecLm>(std::move(parts));
}

}  // namespace syrinx::bagpiper
