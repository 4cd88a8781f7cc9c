// Codes to samples by the codec, as the chunk stage of the pipeline. The link needs lookahead() of
// the codec and no left context.
#pragma once

#include <memory>

#include "codec/espnet_codec.h"
#include "model/stage.h"

namespace syrinx::opuslm {

class CodecStage : public ChunkStage {
 public:
  explicit CodecStage(const EspnetCodec& codec) : codec_(codec) {}

  FrameType in() const override {
    return {Flow::kCodes, static_cast<int>(codec_.config().codebooks)};
  }
  FrameType out() const override {
    return {Flow::kSamples, static_cast<int>(codec_.config().hop())};
  }
  std::unique_ptr<StreamState> open(Bundle) const override {
    auto stream = std::make_unique<Stream>();
    stream->state = codec_.open();
    return stream;
  }
  void run(StepContext& ctx, std::span<ChunkJob> jobs) const override {
    for (const ChunkJob& job : jobs) {
      const size_t left = static_cast<size_t>(job.left) * static_cast<size_t>(in_width());
      codec_.run(ctx, {&static_cast<Stream*>(job.state)->state, job.codes.subspan(left), job.fresh,
                       job.last, job.out});
    }
  }

 private:
  struct Stream : StreamState {
    EspnetCodecState state;
  };
  const EspnetCodec& codec_;
};

}  // namespace syrinx::opuslm
