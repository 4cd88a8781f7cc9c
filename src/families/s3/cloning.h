// Recordings to voices of the S3 families whose encoders are ONNX files of the checkpoint: speech
// tokens, mel and speaker vector (put_reference). The encoders are loaded when the first recording
// comes. Const but for that, thread-safe. Source: CosyVoice:cosyvoice/cli/frontend.py.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "families/family.h"
#include "families/s3/reference.h"

namespace syrinx {

class S3Cloning : public VoiceEncoder {
 public:
  /// Paths of the two networks; not asked for with random weights.
  struct Files {
    std::string tokenizer, speaker;
    /// What of them is missing, by name; empty: nothing.
    std::string missing() const;
  };
  /// `filled`: a mel that ends before its tokens is filled up, as by take_filled().
  S3Cloning(VoiceEncoderInfo info, Files files, const S3FlowConfig& flow, bool dummy,
            bool filled = false);

  const VoiceEncoderInfo& info() const override { return info_; }
  std::unique_ptr<VoiceEncoding> open(const Recording& recording) const override;
  void run(StepContext& ctx, std::span<VoiceEncoding* const> batch) const override;

 private:
  class Encoding;
  /// Throws LoadError, each time anew until it succeeds.
  const S3ReferenceEncoder& encoder() const;

  VoiceEncoderInfo info_;
  Files files_;
  S3FlowConfig flow_;
  bool dummy_, filled_;
  mutable std::once_flag once_;
  mutable std::unique_ptr<const S3ReferenceEncoder> encoder_;
};

}  // namespace syrinx
