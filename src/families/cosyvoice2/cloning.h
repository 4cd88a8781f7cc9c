// Recordings to voices of CosyVoice2: speech tokens, mel and speaker vector. In mode "zero-shot"
// the language model continues the recording, so it needs its words; in mode "cross-lingual" only
// the flow hears it. The encoders are ONNX files of the checkpoint, loaded when the first recording
// comes. Const but for that, thread-safe. Source: CosyVoice:cosyvoice/cli/frontend.py.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "families/cosyvoice2/config.h"
#include "families/cosyvoice2/frontend.h"
#include "families/cosyvoice2/voices.h"
#include "families/family.h"
#include "families/s3/reference.h"

namespace syrinx::cosyvoice2 {

class Cloning : public VoiceEncoder {
 public:
  Cloning(const LoadSpec& spec, const ModelConfig& config);

  const VoiceEncoderInfo& info() const override { return info_; }
  std::unique_ptr<VoiceEncoding> open(const Recording& recording) const override;
  void run(StepContext& ctx, std::span<VoiceEncoding* const> batch) const override;

 private:
  class Encoding;
  /// Throws LoadError, each time anew until it succeeds.
  const S3ReferenceEncoder& encoder() const;

  VoiceEncoderInfo info_;
  LoadSpec spec_;
  S3FlowConfig flow_;
  mutable std::once_flag once_;
  mutable std::unique_ptr<const S3ReferenceEncoder> encoder_;
};

/// What the checkpoint lacks for it; empty: nothing.
std::string missing_for_cloning(const LoadSpec& spec);

/// A voice that came with a request, whose numbers may be anybody's: an Error says what does not
/// fit.
Result<Voice> voice_of(const syrinx::Voice& data, const ModelConfig& config,
                       const Frontend& frontend, const S3Flow& flow);
/// A voice of a CAM++ vector alone.
Result<syrinx::Voice> speaker_voice(std::span<const float> vector, const ModelConfig& config);

}  // namespace syrinx::cosyvoice2
