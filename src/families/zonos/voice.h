// Voices of Zonos: speaker vectors, made of a recording or brought by a user, alone or mixed.
// Const after construction; thread-safe.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "families/zonos/speaker_encoder.h"
#include "model/request.h"
#include "model/voice.h"

namespace syrinx::zonos {

/// Speaker vectors by name.
using Speakers = std::map<std::string, std::vector<double>>;

/// The vector [width] of a request's voice, which is empty for "none"; a mix is the average of its
/// vectors, because the model's prefix is linear in them.
Result<std::vector<double>> speaker_vector(const Speakers& speakers, int64_t width,
                                           const SpeechRequest& request);

/// A voice of a vector [width] that a user brings.
Result<Voice> voice_of_vector(std::span<const float> vector, int64_t width);

class VoiceMaker : public VoiceEncoder {
 public:
  using Load = std::function<std::unique_ptr<SpeakerEncoder>()>;
  /// `load` is called once, with the first recording: the network has 0.4 GB.
  explicit VoiceMaker(Load load) : load_(std::move(load)) {}

  const VoiceEncoderInfo& info() const override { return info_; }
  std::unique_ptr<VoiceEncoding> open(const Recording& recording) const override;
  void run(StepContext& ctx, std::span<VoiceEncoding* const> batch) const override;

 private:
  Load load_;
  mutable std::once_flag once_;
  mutable std::unique_ptr<SpeakerEncoder> encoder_;
  VoiceEncoderInfo info_ = {
      .family = "zonos", .version = "2", .modes = {{"x-vector"}}, .min_s = 1, .max_s = 30};
};

}  // namespace syrinx::zonos
