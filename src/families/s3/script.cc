#include "families/s3/script.h"

namespace syrinx {

int S3Script::emit(const DelayedStreams& steps, std::span<int32_t> frame, StepOutput& out) {
  if (steps.steps() == 1) begins_ = spoke_;
  if (frame[0] >= tokens_) return 0;
  speak(frame[0], out);
  return 1;
}

void S3Script::speak(int32_t token, StepOutput& out) {
  const int32_t frame[] = {token | (begins_ ? kS3SegmentStart : 0)};
  out.frame(frame);
  begins_ = false, spoke_ = true;
}

const S3State& s3_state_of(const Sequence& sequence) {
  if (const auto* own = dynamic_cast<const S3State*>(&sequence)) return *own;
  return dynamic_cast<const S3State&>(dynamic_cast<const SpokenSequence&>(sequence).script());
}

}  // namespace syrinx
