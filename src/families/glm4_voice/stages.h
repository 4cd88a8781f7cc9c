// The networks around the language model as stages of the graph: hearing (samples to codes), flow
// (codes to mel), vocoder (mel to samples). Const after construction, shared by threads; the
// networks must outlive them.
#pragma once

#include "codec/glm_flow.h"
#include "codec/glm_speech_tokenizer.h"
#include "codec/hift.h"
#include "families/hearing/heard.h"
#include "model/graph.h"

namespace syrinx::glm4_voice {

/// The stage from samples to codes. A frame is a block of the speech tokenizer, which lasts 4 s and
/// is computed in one piece. Each segment of a recording begins with a new frame, and its last
/// frame is filled with zeros. The output is the codes as floats. Blocks with known keys are not
/// encoded again. The state after the last complete block is stored for a later request that
/// continues the recording.
class HearingStage : public ChunkStage {
 public:
  explicit HearingStage(const GlmSpeechTokenizer& tokenizer)
      : tokenizer_(tokenizer), before_(kHeardBeforeBytes), states_(kStatesBytes) {}

  /// A chunk includes the neighbouring blocks, because mel and convolutions of a block read them.
  static constexpr ChunkPolicy kPolicy{.initial = 1, .steady = 1, .left = 1, .lookahead = 1};
  Device device() const override { return tokenizer_.device(); }
  FrameType in() const override;
  FrameType out() const override { return {Flow::kRows, 1}; }
  int most_out() const override;
  Bundle bundle(const Sequence& answer) const override;
  std::unique_ptr<StreamState> open(Bundle bundle) const override;
  void run(StepContext& ctx, std::span<ChunkJob> jobs) const override;

 private:
  struct Stream;
  static constexpr size_t kStatesBytes = size_t{128} << 20;

  void run(StepContext& ctx, ChunkJob& job) const;
  void begin_segment(Stream& stream) const;
  void end_segment(Stream& stream) const;
  const GlmSpeechTokenizer& tokenizer_;
  mutable HeardBefore before_;  // cached codes of blocks
  mutable Remembered<uint64_t, GlmSpeechTokenizer::State> states_;
};

/// Makes an answer's mel in blocks of 25, 50, 100, 150, 200, 200, ... codes, like the authors' web
/// demo. The flow attends to a whole block and all blocks before it, so the sizes of blocks affect
/// the sound. They do not depend on scheduling. The last 34 frames of a block are held back and
/// cross-faded with the first frames of the next. docs/families/glm4_voice.md lists differences
/// from the demo.
class FlowStage : public ChunkStage {
 public:
  explicit FlowStage(const GlmFlow& flow);

  /// cut() chooses the chunks. The lookahead shows whether a code follows a block.
  static constexpr ChunkPolicy kPolicy{.initial = 25, .steady = 200, .lookahead = 1};
  /// The most mel frames that may wait for the vocoder, including those of the longest block.
  static constexpr int64_t kWindow = 1 << 14;
  Device device() const override { return flow_.device(); }
  FrameType in() const override { return {Flow::kCodes, 1}; }
  FrameType out() const override { return {Flow::kRows, static_cast<int>(flow_.config().mel)}; }
  /// The last block sends the most frames per code if it has one code: its own and the held ones.
  int most_out() const override {
    return static_cast<int>(flow_.config().frames(1) + 1 + overlap_);
  }
  std::unique_ptr<StreamState> open(Bundle bundle) const override;
  void run(StepContext& ctx, std::span<ChunkJob> jobs) const override;
  int cut(const StreamState& stream, const WaitingFrames& waiting, int planned) const override;
  void follow(StreamState& stream, const ChunkJob& job) const override;

 private:
  void run(StepContext& ctx, ChunkJob& job) const;
  const GlmFlow& flow_;
  int64_t overlap_;
  std::vector<double> window_;  // [2 * overlap], a Hamming window
};

/// Turns mel frames into samples, delayed by the vocoder's lookahead: one continuous stream from
/// the first frame to the last. Noise and phases depend on the request's seed and the frame.
class VocoderStage : public ChunkStage {
 public:
  explicit VocoderStage(const Hift& hift) : hift_(hift) {}

  ChunkPolicy policy() const {
    return {.initial = 1, .steady = 64, .lookahead = static_cast<int>(hift_.lookahead())};
  }
  Device device() const override { return hift_.device(); }
  FrameType in() const override { return {Flow::kRows, static_cast<int>(hift_.config().mel)}; }
  FrameType out() const override {
    return {Flow::kSamples, static_cast<int>(hift_.config().hop())};
  }
  Bundle bundle(const Sequence& answer) const override;
  std::unique_ptr<StreamState> open(Bundle bundle) const override;
  void run(StepContext& ctx, std::span<ChunkJob> jobs) const override;
  /// Takes all frames whose samples are final. At the end of an answer, takes all of its frames.
  int cut(const StreamState& stream, const WaitingFrames& waiting, int planned) const override;

 private:
  const Hift& hift_;
};

}  // namespace syrinx::glm4_voice
