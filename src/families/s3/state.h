// The state of a request with S3 speech tokens, for the stages after its language model.
#pragma once

#include <memory>
#include <utility>

#include "codec/s3_flow.h"

namespace syrinx {

/// A bit in the first token of every segment except the first (a frame is one token). At such a
/// token, the flow starts again from the voice's prompt, and the vocoder from silence. The
/// originals do this, because they speak a text in separate parts.
inline constexpr int32_t kS3SegmentStart = 1 << 24;

/// The most tokens of a segment whose flow attends to the whole segment: 40 s, as Chatterbox allows
/// in a call. The flow computes such a segment in one batch, in time quadratic in its tokens.
inline constexpr int kMostFullTokens = 1000;

/// The part of a sequence, or of its script, that the flow reads.
class S3State {
 public:
  virtual ~S3State() = default;
  const std::shared_ptr<const S3FlowVoice>& flow_voice() const { return flow_voice_; }
  uint64_t seed() const { return seed_; }
  /// Returns whether the flow attends to whole segments, and therefore waits for their ends.
  bool full_flow() const { return full_flow_; }

 protected:
  S3State() = default;
  S3State(std::shared_ptr<const S3FlowVoice> voice, uint64_t seed, bool full_flow)
      : flow_voice_(std::move(voice)), seed_(seed), full_flow_(full_flow) {}

  std::shared_ptr<const S3FlowVoice> flow_voice_;
  uint64_t seed_ = 0;
  bool full_flow_ = false;
};

}  // namespace syrinx
