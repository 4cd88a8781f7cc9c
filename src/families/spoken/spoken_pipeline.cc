#include "families/spoken/spoken_pipeline.h"

namespace syrinx {

void SpokenPipeline::join(std::unique_ptr<CodecLm> lm, std::span<const Link> behind) {
  lm_ = std::move(lm);
  graph_ = chain(*lm_, behind);
  info_.parts = describe_lm(*lm_);
  if (spoken_.guidance) info_.offers.add("guidance");
  if (spoken_.inner_sampling) {
    info_.offers.add({{"inner_temperature"}, {"inner_top_p"}, {"inner_top_k"}});
  }
}

void SpokenPipeline::join(std::unique_ptr<CodecLm> lm, std::unique_ptr<ChunkStage> codec,
                          const CodecInfo& info, ChunkPolicy policy) {
  stage_ = std::move(codec);
  const Link links[] = {{"codec", stage_.get(), policy}};
  join(std::move(lm), links);
  set_rates(info_, info.sample_rate, info.hop);
  info_.speech.late_text = LateText::kSentence;
  info_.parts.push_back({"codec", info.shape, info.bytes});
}

}  // namespace syrinx
