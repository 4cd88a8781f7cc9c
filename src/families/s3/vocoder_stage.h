// Turns mel frames into samples, delayed by the vocoder's lookahead. Each segment is a separate
// stream, as in the originals. The noise depends on the request's seed and the frame, the phases on
// the seed and the segment. Const after construction; any number of executors.
#pragma once

#include "codec/hift.h"
#include "families/s3/state.h"
#include "model/stage.h"

namespace syrinx {

class S3VocoderStage : public ChunkStage {
 public:
  /// `ratio`: mel frames per token. `fade`: factors of the first samples of a segment.
  S3VocoderStage(const Hift& hift, int64_t ratio, std::vector<float> fade = {});

  Device device() const override { return hift_.device(); }
  FrameType in() const override {
    return {Flow::kRows, static_cast<int>(ratio_ * hift_.config().mel) + 1};
  }
  FrameType out() const override {
    return {Flow::kSamples, static_cast<int>(hift_.config().hop())};
  }
  /// Returns the mel frames per token: each makes one output frame, unless it is S3Mark::unheard.
  int most_out() const override { return static_cast<int>(ratio_); }
  int samples_per_token() const { return most_out() * out_width(); }
  /// Returns how many later tokens must arrive before a token's samples are final.
  int lookahead() const;
  Bundle bundle(const Sequence& request) const override;
  std::unique_ptr<StreamState> open(Bundle bundle) const override;
  void run(StepContext& ctx, std::span<ChunkJob> jobs) const override;
  /// Takes all frames whose samples are final. At the end of a segment, takes all of its frames.
  int cut(const StreamState&, const WaitingFrames& waiting, int planned) const override;

 private:
  struct Stream;
  struct Piece;
  Piece begin_piece(StepContext& ctx, ChunkJob& job, int64_t begin, HiftJob& work) const;
  void end_piece(const Piece& piece) const;
  HiftState begin(const Stream& stream) const;

  const Hift& hift_;
  int64_t ratio_;
  std::vector<float> fade_;
};

}  // namespace syrinx
