#include "families/s3/script.h"

namespace syrinx {

int S3Script::emit(const DelayedStreams& steps, std::span<int32_t> frame, StepOutput& out) {
  if (steps.steps() == 1) begins_ = spoke_;
  if (frame[0] >= tokens_) return 0;
  const int32_t token[] = {frame[0] | (begins_ ? kS3SegmentStart : 0)};
  out.frame(token);
  begins_ = false, spoke_ = true;
  return 1;
}

const S3State& s3_state_of(const Sequence& sequence) {
  if (const auto* own = dynamic_cast<const S3State*>(&sequence)) return *own;
  return dynamic_cast<const S3State&>(dynamic_cast<const SpokenSequence&>(sequence).script());
}

}  // namespace syrinx
