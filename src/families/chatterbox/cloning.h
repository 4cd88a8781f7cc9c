// Makes voices from recordings for Chatterbox and Turbo. The language model receives the speaker
// encoder's vector of the whole recording, the speech tokens of its first seconds and a degree of
// emotion. The flow receives tokens, mel and vector of the first 10 s. The encoders are loaded with
// the first recording; otherwise const. Thread-safe. Source: chatterbox:src/chatterbox/tts.py
// (prepare_conditionals).
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "families/chatterbox/config.h"
#include "families/chatterbox/speaker.h"
#include "families/family.h"
#include "families/s3/reference.h"

namespace syrinx::chatterbox {

/// Settings with which a family's authors prepare a recording.
struct CloningPlan {
  const char* family = "chatterbox";
  std::string codec = "s3gen.safetensors";  ///< file of the S3 tokenizer and CAM++
  const char* speaker = "ve.safetensors";   ///< file of the speaker encoder
  double least_s = 1;                       ///< shortest recording in seconds
  size_t prompt_s = 6;                      ///< seconds whose tokens the language model receives
  std::optional<double> loudness = {};      ///< LUFS to which a recording is scaled; unset: none
};

/// The voice encoder of a checkpoint. open() may load weights.
class Cloning : public VoiceEncoder {
 public:
  Cloning(const LoadSpec& spec, const ModelConfig& config, const CloningPlan& plan = {});

  const VoiceEncoderInfo& info() const override { return info_; }
  std::unique_ptr<VoiceEncoding> open(const Recording& recording) const override;
  void run(StepContext& ctx, std::span<VoiceEncoding* const> batch) const override;

 private:
  struct Encoders {
    S3ReferenceEncoder reference;
    SpeakerEncoder speaker;
  };
  class Encoding;
  /// Loads the encoders at the first call. Throws LoadError; then the next call tries again.
  const Encoders& encoders() const;

  VoiceEncoderInfo info_;
  CloningPlan plan_;
  LoadSpec spec_;
  ModelConfig config_;
  mutable std::once_flag once_;
  mutable std::unique_ptr<const Encoders> encoders_;
};

/// Returns what the checkpoint lacks for cloning. Empty if it lacks nothing.
std::string missing_for_cloning(const LoadSpec& spec, const Weights& s3gen,
                                const CloningPlan& plan = {});

}  // namespace syrinx::chatterbox
