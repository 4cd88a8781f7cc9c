// Makes voices from recordings for the S3 families whose encoders are ONNX files in the checkpoint:
// speech tokens, mel and speaker vector (put_reference). The encoders are loaded when the first
// recording arrives; otherwise const. Thread-safe. Source: CosyVoice:cosyvoice/cli/frontend.py.
#pragma once

#include <memory>
#include <string>

#include "families/loading/recorded_voice.h"
#include "families/s3/reference.h"

namespace syrinx {

/// Options for making voices from recordings.
struct S3CloningOptions {
  bool dummy = false;        ///< the encoders have random weights
  bool filled = false;       ///< a mel that is shorter than its tokens is extended (take_filled())
  double mel_top_hz = 8000;  ///< highest frequency of the mel, in Hz
};

class S3Cloning : public RecordedVoices<std::unique_ptr<S3ReferenceEncoder>> {
 public:
  /// Paths of the two networks. Not used with random weights.
  struct Files {
    std::string tokenizer, speaker;
    /// Returns the names of the missing networks. Empty if none is missing.
    std::string missing() const;
  };
  S3Cloning(VoiceEncoderInfo info, Files files, const S3FlowConfig& flow,
            const S3CloningOptions& options);
};

}  // namespace syrinx
