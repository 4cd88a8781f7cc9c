#include "families/higgs/voice.h"

#include "base/check.h"
#include "families/recorded_voice.h"

namespace syrinx::higgs {
namespace {

/// A recording on its way through the codec's encoder.
class HiggsEncoding : public RecordedVoice {
 public:
  HiggsEncoding(const XCodecEncoder& encoder, const VoiceEncoderInfo& info,
                const Recording& recording)
      : RecordedVoice(info, recording), encoder_(encoder) {
    start(work());
  }

 private:
  Pieces work() {
    resample(encoder_.sample_rate(), Resampling::kHann);
    co_await PieceEnd();
    Tensor codes;
    for (Pieces p = encoder_.run(ctx_slot(), samples, codes); !p.done(); p.next()) {
      co_await PieceEnd();
    }
    voice.tensors.emplace(kVoiceCodes, std::move(codes));
  }

  const XCodecEncoder& encoder_;
};

}  // namespace

VoiceMaker::VoiceMaker(std::function<std::unique_ptr<XCodecEncoder>()> load)
    : load_(std::move(load)),
      info_{.family = kFamily,
            .version = "1",
            .modes = {{"in-context", false}},
            .min_s = 1,
            .max_s = kMostSeconds} {}

std::unique_ptr<VoiceEncoding> VoiceMaker::open(const Recording& recording) const {
  std::call_once(once_, [&] { encoder_ = load_(); });
  return std::make_unique<HiggsEncoding>(*encoder_, info_, recording);
}

void VoiceMaker::run(StepContext& ctx, std::span<VoiceEncoding* const> batch) const {
  for (VoiceEncoding* encoding : batch) static_cast<HiggsEncoding*>(encoding)->run(ctx);
}

Result<std::vector<int32_t>> voice_codes(const ModelConfig& config, const Voice& voice,
                                         int64_t most) {
  const auto refuse = [](const std::string& why) {
    return Error{ErrorCode::kInvalid, "the voice is none of this model: " + why, "voice"};
  };
  const Tensor* codes = voice.find(kVoiceCodes);
  if (!codes || codes->dtype() != DType::kI32 || codes->shape().dims() != 2 ||
      codes->shape()[1] != config.codebooks || codes->shape()[0] < 1) {
    return refuse(concat("it needs \"codes\" i32 [frames, ", config.codebooks, "]"));
  }
  if (codes->shape()[0] > most) {
    return recording_too_long(voice, codes->shape()[0], most);
  }
  std::vector<int32_t> out(codes->i32(), codes->i32() + codes->shape().count());
  for (const int32_t code : out) {
    if (code < 0 || code >= config.real_codes()) {
      return refuse(concat("code ", code, " of ", config.real_codes()));
    }
  }
  return out;
}

}  // namespace syrinx::higgs
