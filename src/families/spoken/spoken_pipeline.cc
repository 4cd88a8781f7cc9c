#include "families/spoken/spoken_pipeline.h"

namespace syrinx {

void SpokenPipeline::set_lm(std::unique_ptr<CodecLm> lm) {
  lm_ = std::move(lm);
  info_.parts = describe_lm(*lm_);
  if (spoken_.guidance) info_.offers.add("guidance");
  if (spoken_.inner_sampling) {
    info_.offers.add({{"inner_temperature"}, {"inner_top_p"}, {"inner_top_k"}});
  }
}

}  // namespace syrinx
