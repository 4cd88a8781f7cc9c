// Codes to samples: the codec, the gain of a request, and the fades at both ends of a segment,
// whose stream begins anew. Const after construction; any number of executors. Source: omnivoice
// 0.2.1, omnivoice/utils/audio.py (fade_and_pad_audio).
#pragma once

#include <memory>

#include "codec/dac_codec.h"
#include "families/codec_stage.h"

namespace syrinx::omnivoice {

class SpeechStage : public CodecStage<DacCodec> {
 public:
  using CodecStage::CodecStage;

  Bundle bundle(const Sequence& sequence) const override;
  std::unique_ptr<StreamState> open(Bundle bundle) const override;
  void run(StepContext& ctx, std::span<ChunkJob> jobs) const override;
  /// Returns the number of frames that must follow a chunk: for the codec, and for the fade-out.
  int lookahead() const;

 private:
  struct Stream;
  int64_t fade() const { return codec().config().sample_rate / 10; }  // samples
};

}  // namespace syrinx::omnivoice
