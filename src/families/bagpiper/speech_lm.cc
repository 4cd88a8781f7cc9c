#include "families/bagpiper/speech_lm.h"

#include <algorithm>
#include <vector>

#include "nn/cache_type.h"

namespace syrinx::bagpiper {

std::unique_ptr<CodecLm> load_lm(const ModelConfig& config, const Weights& weights,
                                 const LoadSpec& spec) {
  const Weights model = weights.scope("model");
  Decoder decoder(config.lm, model, spec.weights);
  const int64_t width = config.lm.hidden;
  const View table = model.take("embed_tokens.weight", {config.vocab(), width});
  const View shared = weights.take("lm_head.weight", {config.vocab(), width});
  const Tensor streams = weights.f32("stream_emb.weight", {config.streams, width});
  std::fill_n(streams.f32(), width, 0.f);  // replaces the stored row, which is unused
  // Stream 0 has either words or speech.
  const RowRange control{0, ModelConfig::kFirstWord},
      words{ModelConfig::kFirstWord, config.first_code(0)};
  std::vector<StreamHead> heads;
  for (int64_t s = 0; s < config.streams; ++s) {
    const std::span<const float> own(streams.f32() + s * width, static_cast<size_t>(width));
    const RowRange pad{kPad, kPad + 1}, codes{config.first_code(s), config.first_code(s + 1)};
    const std::vector<HeadPart> parts = s == 0 ? std::vector<HeadPart>{{control}, {words}, {codes}}
                                               : std::vector<HeadPart>{{pad, codes}};
    heads.push_back(
        pack_stream_head(shared, parts, own, at_least_8_bits(spec.weights), spec.device));
  }
  const KvSpec kv = config.lm.kv_spec(cache_type(spec.weights));
  return std::make_unique<CodecLm>(CodecLmParts{
      std::move(decoder), std::vector<View>(static_cast<size_t>(config.streams), table),
      std::move(heads), kv, config.max_positions});
}

}  // namespace syrinx::bagpiper
