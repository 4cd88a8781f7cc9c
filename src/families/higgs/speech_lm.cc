#include "families/higgs/speech_lm.h"

#include <memory>
#include <vector>

#include "nn/cache_type.h"

namespace syrinx::higgs {

std::unique_ptr<CodecLm> load_lm(const ModelConfig& config, const Weights& weights,
                                 WeightType type) {
  Decoder decoder(config.lm, weights.scope("body"), type);
  const int64_t width = config.lm.hidden, v = config.codes;
  const Weights tied = weights.scope("tied"), scope = tied.scope("embedding");
  std::vector<View> tables{scope.take("text_embedding.weight", {config.vocab, width})};
  std::vector<StreamHead> heads;
  const View all =
      scope.take("modality_embeddings.0.embedding.weight", {config.codebooks * v, width});
  for (int64_t c = 0; c < config.codebooks; ++c) {
    const View& table = tables.emplace_back(all.slice(c * v, (c + 1) * v));
    heads.emplace_back().parts.push_back(PackedLinear::pack(table, at_least_8_bits(type)));
  }
  tied.ignore("head.*");  // copies
  const KvSpec kv = config.lm.kv_spec(cache_type(type));
  return std::make_unique<CodecLm>(CodecLmParts{std::move(decoder), std::move(tables),
                                                std::move(heads), kv, config.max_positions});
}

}  // namespace syrinx::higgs
