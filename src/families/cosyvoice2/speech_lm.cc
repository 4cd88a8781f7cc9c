#include "families/cosyvoice2/speech_lm.h"

namespace syrinx::cosyvoice2 {
namespace {

constexpr int64_t kControlRows = 2;  // rows of control ids in CosyVoice2

}  // namespace

std::unique_ptr<CodecLm> load_lm(const ModelConfig& config, const Weights& weights,
                                 WeightType type) {
  const int64_t hidden = config.decoder.hidden, speech = config.speech_vocab();
  CodecLmParts parts =
      lm_parts(config.decoder, weights.scope("llm.model.model"), type, config.max_positions);
  const bool third = config.edition.third;
  const View spoken = weights.take("speech_embedding.weight", {speech, hidden});
  parts.tables = {weights.take("llm.model.model.embed_tokens.weight", {config.text_vocab, hidden}),
                  third ? spoken : weights.take("llm_embedding.weight", {kControlRows, hidden}),
                  spoken};
  parts.heads.push_back(load_head(weights, "llm_decoder", speech, hidden, type, !third));
  weights.ignore("llm.model.lm_head.weight");  // unused; the authors' class inherits it
  return std::make_unique<CodecLm>(std::move(parts));
}

}  // namespace syrinx::cosyvoice2
