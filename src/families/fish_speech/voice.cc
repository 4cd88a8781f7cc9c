#include "families/fish_speech/voice.h"

#include <algorithm>

#include "audio/resampler.h"
#include "model/voice_work.h"

namespace syrinx::fish_speech {
namespace {

constexpr const char* kFrames = "codes";  // i32 [T, C]

class FishEncoding : public VoiceWork {
 public:
  FishEncoding(const FishEncoder& codec, const VoiceEncoderInfo& info, const Recording& recording)
      : codec_(codec), samples_(recording.samples), rate_(recording.sample_rate) {
    voice = {.family = info.family,
             .encoder = info.version,
             .mode = recording.mode,
             .text = recording.text,
             .seconds = recording.seconds()};
    start(work());
  }

 private:
  Pieces work() {
    const int64_t q = codec_.config().codebooks, hop = codec_.config().hop();
    samples_ = resampled(samples_, rate_, static_cast<int>(FishCodecConfig::kSampleRate));
    co_await PieceEnd();
    const int64_t total = codec_.frames(static_cast<int64_t>(samples_.size()));
    Tensor codes({total, q}, DType::kI32);
    FishEncoder::Stream stream = codec_.open();
    for (int64_t at = 0; at < total;) {
      const int64_t n = std::min(total - at, codec_.room(ctx(), stream));
      const size_t begin = at * hop, count = std::min<size_t>(n * hop, samples_.size() - begin);
      codec_.run(ctx(), stream, std::span(samples_).subspan(begin, count),
                 {codes.i32() + at * q, static_cast<size_t>(n * q)});
      at += n;
      co_await PieceEnd();
    }
    voice.tensors.emplace(kFrames, std::move(codes));
  }

  const FishEncoder& codec_;
  std::vector<float> samples_;
  int rate_;
};

}  // namespace

std::unique_ptr<VoiceEncoding> FishVoices::open(const Recording& recording) const {
  return std::make_unique<FishEncoding>(codec_(), info_, recording);
}

void FishVoices::run(StepContext& ctx, std::span<VoiceEncoding* const> batch) const {
  for (VoiceEncoding* encoding : batch) static_cast<FishEncoding*>(encoding)->run(ctx);
}

Result<std::vector<int32_t>> voice_codes(const ModelConfig& config, const Voice& voice) {
  const Tensor* codes = voice.find(kFrames);
  if (!codes || codes->dtype() != DType::kI32 || codes->shape().dims() != 2 ||
      codes->shape()[1] != config.codebooks) {
    return Error{ErrorCode::kInvalid,
                 concat("the voice is none of this model: it needs \"", kFrames, "\" i32 [frames, ",
                        config.codebooks, "]"),
                 "voice"};
  }
  return std::vector<int32_t>(codes->i32(), codes->i32() + codes->shape().count());
}

}  // namespace syrinx::fish_speech
