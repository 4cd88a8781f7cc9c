#include "families/spoken/spoken_pipeline.h"

namespace syrinx {

void SpokenPipeline::describe_lm() {
  const DecoderConfig& decoder = lm_->decoder();
  info_.parts = {{"language model", describe_decoder(decoder), lm_->bytes()}};
  if (lm_->inner_bytes() > 0) {
    info_.parts.push_back({"inner decoder",
                           concat(lm_->traits().vocab.size() - 1, " codes a frame"),
                           lm_->inner_bytes()});
  }
  info_.parts.push_back(
      {"tables", concat(spoken_.tables, " x width ", decoder.hidden), lm_->table_bytes()});
}

}  // namespace syrinx
