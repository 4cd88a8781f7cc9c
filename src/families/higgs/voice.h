// A voice of this family: frames of the codec that the model hears as a reference, with the words
// in them where they are known; given, or made of a recording by the codec's encoder. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "codec/xcodec_encoder.h"
#include "families/higgs/config.h"
#include "model/voice.h"

namespace syrinx::higgs {

inline constexpr const char* kFamily = "higgs_audio";
inline constexpr double kMostSeconds = 60;  ///< of a reference

/// The frames [T, C] of a voice ("codes" i32), or why it is none for this model. `most`: frames.
Result<std::vector<int32_t>> voice_codes(const ModelConfig& config, const Voice& voice,
                                         int64_t most);

/// Makes voices of recordings; the words in them may be known or not. `load` makes the encoder when
/// the first one comes.
class VoiceMaker : public VoiceEncoder {
 public:
  explicit VoiceMaker(std::function<std::unique_ptr<XCodecEncoder>()> load);

  const VoiceEncoderInfo& info() const override { return info_; }
  std::unique_ptr<VoiceEncoding> open(const Recording& recording) const override;
  void run(StepContext& ctx, std::span<VoiceEncoding* const> batch) const override;

 private:
  const std::function<std::unique_ptr<XCodecEncoder>()> load_;
  const VoiceEncoderInfo info_;
  mutable std::once_flag once_;
  mutable std::unique_ptr<XCodecEncoder> encoder_;
};

}  // namespace syrinx::higgs
