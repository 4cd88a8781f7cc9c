// A loaded model with a language model followed by a codec. Header only.
#pragma once

#include <memory>
#include <utility>

#include "families/codec_stage.h"
#include "families/loading/describe.h"
#include "families/loading/loaded_pipeline.h"

namespace syrinx {

class CodecPipeline : public LoadedPipeline {
 protected:
  /// Makes the graph of a language model, which must outlive it, and a codec. Sets the rates.
  /// Describes the codec after the other parts.
  template <typename Codec>
  void join_codec(const ArStage& lm, std::unique_ptr<Codec> codec, ChunkSizes chunks,
                  SeedOf seed_of = nullptr) {
    auto stage = std::make_unique<CodecStage<Codec>>(std::move(codec), seed_of);
    const Link links[] = {stage->link(chunks)};
    graph_ = chain(lm, links);
    const CodecInfo info = codec_info(stage->codec());
    set_rates(info_, info.sample_rate, info.hop);
    info_.parts.push_back(stage->part());
    stage_ = std::move(stage);
  }

 private:
  std::unique_ptr<const ChunkStage> stage_;
};

}  // namespace syrinx
