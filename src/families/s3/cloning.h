// Makes voices of recordings for the S3 families whose encoders are ONNX files of the checkpoint:
// speech tokens, mel and speaker vector (put_reference). The encoders are loaded when the first
// recording comes; otherwise const. Thread-safe. Source: CosyVoice:cosyvoice/cli/frontend.py.
#pragma once

#include <memory>
#include <string>

#include "families/loading/recorded_voice.h"
#include "families/s3/reference.h"

namespace syrinx {

class S3Cloning : public RecordedVoices<std::unique_ptr<S3ReferenceEncoder>> {
 public:
  /// Paths of the two networks; not used with random weights.
  struct Files {
    std::string tokenizer, speaker;
    /// The names of the missing networks; empty for none.
    std::string missing() const;
  };
  /// `filled`: a mel that ends before its tokens is filled up as take_filled() does.
  S3Cloning(VoiceEncoderInfo info, Files files, const S3FlowConfig& flow, bool dummy,
            bool filled = false);
};

}  // namespace syrinx
