// The common base class of the SpokenScripts of families whose language model makes S3 tokens.
// Sends the tokens, limits segments for a full flow, and has the state that later stages read.
#pragma once

#include <utility>

#include "families/s3/state.h"
#include "families/spoken/spoken_sequence.h"

namespace syrinx {

class S3Script : public SpokenScript, public S3State {
 public:
  int64_t step_limit() const override {
    return full_flow_ ? kMostFullTokens : SpokenScript::step_limit();
  }
  /// Sends the step's code if it is a token. Other codes are fed back but not spoken.
  int emit(const DelayedStreams& steps, std::span<int32_t> frame, StepOutput& out) override;

 protected:
  /// Codes below `tokens` are S3 tokens. `full_flow`: the flow attends to whole segments.
  S3Script(std::shared_ptr<const S3FlowVoice> voice, uint64_t seed, bool full_flow, int32_t tokens)
      : S3State(std::move(voice), seed, full_flow), tokens_(tokens) {}

  /// Sends a token of the segment.
  void speak(int32_t token, StepOutput& out);

 private:
  const int32_t tokens_;
  bool spoke_ = false;   // whether any token was spoken, in this segment or an earlier one
  bool begins_ = false;  // whether tokens of earlier segments were spoken, but none of this segment
};

/// Returns the state that the stages after a sequence read: the sequence itself, or its script.
const S3State& s3_state_of(const Sequence& sequence);

}  // namespace syrinx
